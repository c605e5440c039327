import type { Place } from '../../base/place.ts';
import type { DataType, StructField } from '../../data/types.ts';
import { call } from '../call.ts';
import { constantValue, isConstant } from '../compile.ts';
import type { Expression, Operation } from '../expression.ts';
import { fault, mismatch } from '../faults.ts';
import type { FunctionCall, FunctionDefinition } from '../function.ts';

/** Structs from their fields. */
export const structFunctions: readonly FunctionDefinition[] = [
  {
    names: ['struct'],
    arity: [0, Infinity],
    bind: (c) => structCall(c.arguments, c.names, c.place),
  },
  { names: ['named_struct'], arity: [0, Infinity], bind: namedStruct },
];

/** Fields have the names that their values bring along, else `col1`, `col2`, … by position. */
export function structCall(
  values: readonly Expression[],
  names: readonly (string | undefined)[],
  place: Place,
): Expression {
  const fields = values.map(
    (value, i): StructField => ({ name: names[i] ?? `col${i + 1}`, type: value.type }),
  );
  return makeStruct(fields, values, place);
}

function namedStruct(c: FunctionCall): Expression {
  if (c.arguments.length % 2 !== 0) {
    throw fault(
      'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
      `named_struct takes names and values in pairs, not ${c.arguments.length} arguments`,
      c.place,
    );
  }
  const fields: StructField[] = [];
  const values: Expression[] = [];
  for (let i = 0; i + 1 < c.arguments.length; i += 2) {
    const [name, value] = [c.arguments[i], c.arguments[i + 1]];
    if (name === undefined || value === undefined) break;
    fields.push({ name: fieldName(name, c.timeZone), type: value.type });
    values.push(value);
  }
  return makeStruct(fields, values, c.place);
}

function fieldName(name: Expression, timeZone: string): string {
  if (name.type.kind === 'string' && isConstant(name)) {
    const value = constantValue(name, timeZone);
    if (typeof value === 'string') return value;
  }
  throw mismatch(
    'CREATE_NAMED_STRUCT_WITHOUT_FOLDABLE_STRING',
    'the name of a field must be a constant string',
    name.place,
  );
}

function makeStruct(
  fields: readonly StructField[],
  values: readonly Expression[],
  place: Place,
): Expression {
  const type: DataType = { kind: 'struct', fields };
  return call(structOperation, type, values, place);
}

const structOperation: Operation = {
  name: 'struct',
  deterministic: true,
  compile: (args) => (row, frame) => args.map((arg) => arg(row, frame)),
};
