import { sameType } from '../data/type-text.ts';
import type { Column, DataType } from '../data/types.ts';
import type { MapValue, Row, Value, Variant } from '../data/value.ts';
import { isVariantArray, isVariantObject } from '../data/variant.ts';
import { argumentAt } from './arguments.ts';
import { castTo, commonTypeOf } from './coerce.ts';
import { constantValue, isConstant } from './compile.ts';
import type { Expression, OperationContext } from './expression.ts';
import { fault, mismatch } from './faults.ts';
import { coerceArgument, type FunctionCall } from './function.ts';
import { printJson } from './json/json-print.ts';
import { isObject, looseSyntax, parseJson } from './json/json-tree.ts';
import { exactly, type Parameter, parameter } from './parameter.ts';
import { types } from './types.ts';

/** A function that gives rows: of one row none, one or many. */
export type GeneratorDefinition = {
  readonly names: readonly string[];
  readonly arity: readonly [least: number, most: number];
  readonly parameterNames?: readonly string[];
  /** Whether it stands in FROM only. */
  readonly isTableFunction?: true;
  readonly bind: (call: FunctionCall) => BoundGenerator;
};

export type BoundGenerator = {
  readonly name: string;
  /** The columns of the rows that it gives, by their own names. */
  readonly columns: readonly Column[];
  readonly arguments: readonly Expression[];
  /** Called once for each compilation: what it returns runs on each row. */
  readonly prepare: (context: OperationContext) => (values: Row) => readonly Row[];
};

const definitions: readonly GeneratorDefinition[] = [
  {
    names: ['explode'],
    arity: [1, 1],
    parameterNames: ['collection'],
    bind: (c) => explode(c, false),
  },
  {
    names: ['posexplode'],
    arity: [1, 1],
    parameterNames: ['collection'],
    bind: (c) => explode(c, true),
  },
  { names: ['inline'], arity: [1, 1], parameterNames: ['input'], bind: inline },
  { names: ['stack'], arity: [2, Infinity], bind: stack },
  { names: ['json_tuple'], arity: [2, Infinity], bind: jsonTuple },
  {
    names: ['variant_explode'],
    arity: [1, 1],
    parameterNames: ['input'],
    isTableFunction: true,
    bind: variantExplode,
  },
];

const generators: ReadonlyMap<string, GeneratorDefinition> = new Map(
  definitions.flatMap((definition) => definition.names.map((name) => [name, definition] as const)),
);

/** The generator of a name; `outer` where the name ends with `_outer`. */
export function findGenerator(
  name: string,
): { readonly definition: GeneratorDefinition; readonly outer: boolean } | undefined {
  const lower = name.toLowerCase();
  const plain = generators.get(lower);
  if (plain !== undefined) return { definition: plain, outer: false };
  if (!lower.endsWith('_outer')) return undefined;
  const definition = generators.get(lower.slice(0, -'_outer'.length));
  const hasOuter = definition !== undefined && definition.arity[1] === 1;
  return hasOuter ? { definition, outer: true } : undefined;
}

function explode(c: FunctionCall, hasPosition: boolean): BoundGenerator {
  const value = argumentAt(c, 0);
  const { type } = value;
  const position: Column[] = hasPosition ? [{ name: 'pos', type: types.int }] : [];
  const numbered = (row: Row, i: number): Row => (hasPosition ? [i, ...row] : row);
  switch (type.kind) {
    case 'array':
      return {
        name: c.name,
        columns: [...position, { name: 'col', type: type.element }],
        arguments: [value],
        prepare:
          () =>
          ([array]) =>
            ((array ?? []) as readonly Value[]).map((element, i) => numbered([element], i)),
      };
    case 'map':
      return {
        name: c.name,
        columns: [
          ...position,
          { name: 'key', type: type.key },
          { name: 'value', type: type.value },
        ],
        arguments: [value],
        prepare:
          () =>
          ([map]) =>
            ((map ?? { entries: [] }) as MapValue).entries.map((entry, i) => numbered(entry, i)),
      };
    default:
      throw mismatch('UNEXPECTED_INPUT_TYPE', `${c.name} takes an array or a map`, value.place);
  }
}

function inline(c: FunctionCall): BoundGenerator {
  const value = argumentAt(c, 0);
  const { type } = value;
  if (type.kind !== 'array' || type.element.kind !== 'struct') {
    throw mismatch('UNEXPECTED_INPUT_TYPE', `${c.name} takes an array of structs`, value.place);
  }
  const { fields } = type.element;
  const nothing: Row = fields.map(() => null);
  return {
    name: c.name,
    columns: fields,
    arguments: [value],
    prepare:
      () =>
      ([array]) =>
        ((array ?? []) as readonly Value[]).map((struct) => (struct as Row | null) ?? nothing),
  };
}

/** No other number and no NULL: the rows are counted before anything is coerced. */
const onlyInt: Parameter<number> = {
  ...parameter.int,
  coerce: (argument) => (argument.type.kind === 'int' ? argument : undefined),
};

/** Nothing is widened in a column of stack. */
function sameOrNull(a: DataType, b: DataType): DataType | undefined {
  if (a.kind === 'void') return b;
  return b.kind === 'void' || sameType(a, b) ? a : undefined;
}

function stack(c: FunctionCall): BoundGenerator {
  const given = coerceArgument(c.name, argumentAt(c, 0), 0, onlyInt);
  if (!isConstant(given)) {
    throw mismatch('NON_FOLDABLE_INPUT', 'the number of rows must be constant', given.place);
  }
  const count = constantValue(given, c.timeZone) as number | null;
  if (count === null) throw mismatch('UNEXPECTED_NULL', 'the number of rows is NULL', given.place);
  if (count < 1) {
    throw mismatch('VALUE_OUT_OF_RANGE', 'the number of rows must be 1 or more', given.place);
  }
  const values = c.arguments.slice(1);
  const width = Math.max(1, Math.ceil(values.length / count));
  const columns = Array.from({ length: width }, (_, i): Column => {
    const column = values.filter((_value, at) => at % width === i);
    const type = commonTypeOf(
      column.map((value) => value.type),
      sameOrNull,
    );
    if (type === undefined) {
      throw mismatch(
        'STACK_COLUMN_DIFF_TYPES',
        `column ${i} of stack has values of different types`,
        c.place,
      );
    }
    return { name: `col${i}`, type };
  });
  return {
    name: `${c.name}(${count})`,
    columns,
    arguments: values.map((value, i) => castTo(value, columnType(columns, i % width))),
    prepare: () => (row) =>
      Array.from({ length: count }, (_, r) =>
        Array.from({ length: width }, (__, i) => row[r * width + i] ?? null),
      ),
  };
}

function columnType(columns: readonly Column[], index: number): DataType {
  return columns[index]?.type ?? types.void;
}

function jsonTuple(c: FunctionCall): BoundGenerator {
  const args = c.arguments.map((argument) => {
    if (argument.type.kind !== 'string')
      throw mismatch('NON_STRING_TYPE', 'json_tuple takes strings', argument.place);
    return castTo(argument, types.string);
  });
  const names = args.slice(1);
  return {
    name: c.name,
    columns: names.map((_, i) => ({ name: `c${i}`, type: types.string })),
    arguments: args,
    prepare:
      () =>
      ([text, ...wanted]) => {
        const result = text === null ? undefined : parseJson(text as string, looseSyntax);
        if (result?.state !== 'value' || !isObject(result.node)) return [wanted.map(() => null)];
        const { members } = result.node;
        return [
          wanted.map((name) => {
            const member = members.findLast(([key]) => key === name)?.[1] ?? null;
            if (member === null) return null;
            return typeof member === 'string' ? member : printJson(member);
          }),
        ];
      },
  };
}

/** One row a member of an object, or an element of an array; none for what is neither. */
function variantExplode(c: FunctionCall): BoundGenerator {
  const value = coerceArgument(c.name, argumentAt(c, 0), 0, exactly(parameter.variant));
  return {
    name: c.name,
    columns: [
      { name: 'pos', type: types.int },
      { name: 'key', type: types.string },
      { name: 'value', type: types.variant },
    ],
    arguments: [value],
    prepare:
      () =>
      ([given = null]) => {
        const node = given === null ? null : (given as Variant).variant;
        if (isVariantArray(node)) return node.map((variant, i) => [i, null, { variant }]);
        if (!isVariantObject(node)) return [];
        return [...node].map(([name, variant], i) => [i, name, { variant }]);
      },
  };
}

/** The fault of a generator that stands where no rows can be made. */
export function strayGenerator(kind: string, name: string, place: Expression['place']): Error {
  return fault(`UNSUPPORTED_GENERATOR.${kind}`, `${name} can't stand here`, place);
}
