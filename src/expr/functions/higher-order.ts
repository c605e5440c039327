import type { Place } from '../../base/place.ts';
import { formatType, sameType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { MapValue, Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { call, located } from '../call.ts';
import { castTo, commonTypeWithoutStrings } from '../coerce.ts';
import type { Evaluator, Expression, Frame, LambdaNode, Operation } from '../expression.ts';
import { fault, mismatch } from '../faults.ts';
import { coerceArgument, type FunctionCall, type FunctionDefinition } from '../function.ts';
import { enterLambdas, leaveLambdas } from '../lambda-cost.ts';
import { mapBuilder, requireMapKey } from '../map-builder.ts';
import { exactly, type Parameter, parameter } from '../parameter.ts';
import { arrayOf, mapOf, types } from '../types.ts';
import { lookupKey } from '../value-set.ts';
import { elementType, onlyArray } from './array.ts';

/**
 * Functions with lambdas. Invariant: a call leaves the parameters of its lambda in the frame as they
 * were, so an expression may stand inside the lambda of another one that uses the same positions.
 */
export const higherOrderFunctions: readonly FunctionDefinition[] = [
  { names: ['transform'], arity: [2, 2], lambdas: 1, bind: transform },
  { names: ['filter'], arity: [2, 2], lambdas: 1, bind: filter },
  { names: ['exists'], arity: [2, 2], lambdas: 1, bind: (c) => quantified(c, true) },
  { names: ['forall'], arity: [2, 2], lambdas: 1, bind: (c) => quantified(c, false) },
  { names: ['aggregate', 'reduce'], arity: [3, 4], lambdas: 2, bind: aggregate },
  { names: ['zip_with'], arity: [3, 3], lambdas: 1, bind: zipWith },
  { names: ['map_zip_with'], arity: [3, 3], lambdas: 1, bind: mapZipWith },
  { names: ['map_filter'], arity: [2, 2], lambdas: 1, bind: mapFilter },
  { names: ['transform_keys'], arity: [2, 2], lambdas: 1, bind: transformKeys },
  { names: ['transform_values'], arity: [2, 2], lambdas: 1, bind: transformValues },
];

/** NULL does not stand for a map here, for the lambda would have no types. */
const onlyMap: Parameter<MapValue> = {
  ...parameter.map,
  coerce: (argument) => (argument.type.kind === 'map' ? argument : undefined),
};

/** The lambda of a call, bound; it takes as many of the types as it has parameters. */
export function boundLambda(
  c: FunctionCall,
  index: number,
  parameterTypes: readonly DataType[],
  least = parameterTypes.length,
): LambdaNode {
  const lambda = c.lambdas[index];
  if (lambda === undefined) {
    throw mismatch('UNEXPECTED_INPUT_TYPE', `${c.name} needs a lambda`, c.place);
  }
  if (lambda.parameterCount === undefined) return lambda.bind([]);
  if (lambda.parameterCount < least || lambda.parameterCount > parameterTypes.length) {
    throw fault(
      'INVALID_LAMBDA_FUNCTION_CALL.NUM_ARGS_MISMATCH',
      `the lambda of ${c.name} takes ${parameterTypes.length} parameters, not ${lambda.parameterCount}`,
      lambda.place,
    );
  }
  return lambda.bind(parameterTypes.slice(0, lambda.parameterCount));
}

function booleanBody(c: FunctionCall, lambda: LambdaNode): LambdaNode {
  const body = exactly(parameter.boolean).coerce(lambda.body);
  if (body === undefined) {
    throw mismatch(
      'UNEXPECTED_INPUT_TYPE',
      `the lambda of ${c.name} must give a boolean, not ${formatType(lambda.type)}`,
      lambda.place,
    );
  }
  return { ...lambda, body, type: body.type };
}

type Setter = (frame: Frame, first: Value, second: Value, third: Value) => void;

function setterOf(lambda: LambdaNode): Setter {
  const [a, b, c] = lambda.parameters;
  return (frame, first, second, third) => {
    if (a !== undefined) frame.parameters[a] = first;
    if (b !== undefined) frame.parameters[b] = second;
    if (c !== undefined) frame.parameters[c] = third;
  };
}

/** Runs work that sets parameters, and gives them back what they held before. */
function saved(
  lambdas: readonly LambdaNode[],
  place: Place,
): (frame: Frame, work: () => Value) => Value {
  const positions = lambdas.flatMap((lambda) => lambda.parameters);
  return (frame, work) => {
    const before = positions.map((position) => frame.parameters[position] ?? null);
    enterLambdas(frame);
    try {
      return work();
    } catch (error) {
      throw located(error, place);
    } finally {
      leaveLambdas(frame);
      positions.forEach((position, i) => {
        frame.parameters[position] = before[i] ?? null;
      });
    }
  };
}

/** Setters for the parameters of the first lambda, and the guard around work that sets any of them. */
export function parametersOf(
  lambdas: readonly LambdaNode[],
  place: Place,
): {
  set: (frame: Frame, first: Value, second: Value) => void;
  restoring: (frame: Frame, work: () => Value) => Value;
} {
  const [first] = lambdas;
  const set = first === undefined ? () => {} : setterOf(first);
  return { set: (frame, a, b) => set(frame, a, b, null), restoring: saved(lambdas, place) };
}

const nothing: Evaluator = () => null;

type ArrayStep = (array: readonly Value[], each: (element: Value, index: number) => Value) => Value;

/** A call over one array and one lambda of element and position. */
function arrayCall(
  c: FunctionCall,
  type: (lambda: LambdaNode, array: Expression) => DataType,
  step: ArrayStep,
  refine: (lambda: LambdaNode) => LambdaNode = (lambda) => lambda,
  hasPosition = true,
): Expression {
  const array = coerceArgument(c.name, argumentAt(c, 0), 0, onlyArray);
  const parameters = hasPosition ? [elementType(array), types.int] : [elementType(array)];
  const lambda = refine(boundLambda(c, 0, parameters, 1));
  const set = setterOf(lambda);
  const restoring = saved([lambda], c.place);
  const operation: Operation = {
    name: c.name,
    deterministic: true,
    compile:
      ([values = nothing, body = nothing]) =>
      (row, frame) => {
        const elements = values(row, frame) as readonly Value[] | null;
        if (elements === null) return null;
        return restoring(frame, () =>
          step(elements, (element, index) => {
            set(frame, element, index, null);
            return body(row, frame);
          }),
        );
      },
  };
  return call(operation, type(lambda, array), [array, lambda], c.place);
}

function transform(c: FunctionCall): Expression {
  return arrayCall(
    c,
    (lambda) => arrayOf(lambda.type),
    (array, each) => array.map(each),
  );
}

function filter(c: FunctionCall): Expression {
  return arrayCall(
    c,
    (_, array) => array.type,
    (array, each) => array.filter((element, i) => each(element, i) === true),
    (lambda) => booleanBody(c, lambda),
  );
}

/** `exists` looks for TRUE, `forall` for FALSE; NULL when nothing decides and a verdict was NULL. */
function quantified(c: FunctionCall, wanted: boolean): Expression {
  return arrayCall(
    c,
    () => types.boolean,
    (array, each) => {
      let sawNull = false;
      for (const [i, element] of array.entries()) {
        const verdict = each(element, i);
        if (verdict === wanted) return wanted;
        if (verdict === null) sawNull = true;
      }
      return sawNull ? null : !wanted;
    },
    (lambda) => booleanBody(c, lambda),
    false,
  );
}

/** Whether two types differ in the names of fields only. */
function sameShape(a: DataType, b: DataType): boolean {
  if (a.kind === 'struct' && b.kind === 'struct') {
    const { fields } = b;
    return (
      a.fields.length === fields.length &&
      a.fields.every(({ type }, i) => sameShape(type, fields[i]?.type ?? types.void))
    );
  }
  if (a.kind === 'array' && b.kind === 'array') return sameShape(a.element, b.element);
  return sameType(a, b);
}

function aggregate(c: FunctionCall): Expression {
  const array = coerceArgument(c.name, argumentAt(c, 0), 0, onlyArray);
  const start = argumentAt(c, 1);
  const bound = boundLambda(c, 0, [start.type, elementType(array)]);
  // Fields may have other names than those of the start.
  const finish = c.lambdas[1] === undefined ? undefined : boundLambda(c, 1, [start.type]);
  const isNull = bound.type.kind === 'void';
  const merge: LambdaNode =
    isNull || sameShape(bound.type, start.type)
      ? { ...bound, type: start.type, body: castTo(bound.body, start.type) }
      : bound;
  if (!sameType(merge.type, start.type)) {
    throw mismatch(
      'UNEXPECTED_INPUT_TYPE',
      `the lambda of ${c.name} must give ${formatType(start.type)} like its start, not ${formatType(merge.type)}`,
      merge.place,
    );
  }
  const setMerge = setterOf(merge);
  const setFinish = finish && setterOf(finish);
  const restoring = saved(finish === undefined ? [merge] : [merge, finish], c.place);
  const operation: Operation = {
    name: c.name,
    deterministic: true,
    compile:
      ([values = nothing, zero = nothing, merged = nothing, finished = nothing]) =>
      (row, frame) => {
        const elements = values(row, frame) as readonly Value[] | null;
        if (elements === null) return null;
        return restoring(frame, () => {
          let total = zero(row, frame);
          for (const element of elements) {
            setMerge(frame, total, element, null);
            total = merged(row, frame);
          }
          if (setFinish === undefined) return total;
          setFinish(frame, total, null, null);
          return finished(row, frame);
        });
      },
  };
  const args: Expression[] = [array, start, merge];
  if (finish !== undefined) args.push(finish);
  return call(operation, finish?.type ?? start.type, args, c.place);
}

/** The shorter array is filled up with NULL. */
function zipWith(c: FunctionCall): Expression {
  const left = coerceArgument(c.name, argumentAt(c, 0), 0, onlyArray);
  const right = coerceArgument(c.name, argumentAt(c, 1), 1, onlyArray);
  const lambda = boundLambda(c, 0, [elementType(left), elementType(right)]);
  const set = setterOf(lambda);
  const restoring = saved([lambda], c.place);
  const operation: Operation = {
    name: c.name,
    deterministic: true,
    compile:
      ([first = nothing, second = nothing, body = nothing]) =>
      (row, frame) => {
        const a = first(row, frame) as readonly Value[] | null;
        if (a === null) return null;
        const b = second(row, frame) as readonly Value[] | null;
        if (b === null) return null;
        return restoring(frame, () =>
          Array.from({ length: Math.max(a.length, b.length) }, (_, i) => {
            set(frame, a[i] ?? null, b[i] ?? null, null);
            return body(row, frame);
          }),
        );
      },
  };
  return call(operation, arrayOf(lambda.type), [left, right, lambda], c.place);
}

/** Keys of the first map, then those that only the second one has; a missing value is NULL. */
function mapZipWith(c: FunctionCall): Expression {
  const [left, right] = [0, 1].map((i) => coerceArgument(c.name, argumentAt(c, i), i, onlyMap));
  const [a, b] = [left?.type, right?.type];
  const key =
    a?.kind === 'map' && b?.kind === 'map' ? commonTypeWithoutStrings(a.key, b.key) : undefined;
  if (
    left === undefined ||
    right === undefined ||
    a?.kind !== 'map' ||
    b?.kind !== 'map' ||
    key === undefined
  ) {
    throw mismatch(
      'MAP_ZIP_WITH_DIFF_TYPES',
      'map_zip_with needs maps with keys of one type',
      c.place,
    );
  }
  const lambda = boundLambda(c, 0, [key, a.value, b.value]);
  const set = setterOf(lambda);
  const restoring = saved([lambda], c.place);
  const keyOf = lookupKey(key);
  const operation: Operation = {
    name: c.name,
    deterministic: true,
    compile:
      ([first = nothing, second = nothing, body = nothing]) =>
      (row, frame) => {
        const x = first(row, frame) as MapValue | null;
        if (x === null) return null;
        const y = second(row, frame) as MapValue | null;
        if (y === null) return null;
        const [xs, ys] = [x, y].map(
          (map) => new Map(map.entries.map(([k, v]) => [keyOf(k), [k, v] as const])),
        );
        const keys = new Map([...(xs ?? []), ...(ys ?? [])]);
        return restoring(frame, () => ({
          entries: Array.from(keys, ([lookup, [k]]) => {
            set(frame, k, xs?.get(lookup)?.[1] ?? null, ys?.get(lookup)?.[1] ?? null);
            return [k, body(row, frame)] as const;
          }),
        }));
      },
  };
  const args = [castTo(left, mapOf(key, a.value)), castTo(right, mapOf(key, b.value)), lambda];
  return call(operation, mapOf(key, lambda.type), args, c.place);
}

type MapStep = (map: MapValue, each: (key: Value, value: Value) => Value) => Value;

function mapCall(
  c: FunctionCall,
  type: (lambda: LambdaNode, map: Extract<DataType, { kind: 'map' }>) => DataType,
  step: (lambda: LambdaNode) => MapStep,
  refine: (lambda: LambdaNode) => LambdaNode = (lambda) => lambda,
): Expression {
  const map = coerceArgument(c.name, argumentAt(c, 0), 0, onlyMap);
  const mapType = map.type.kind === 'map' ? map.type : mapOf(types.void, types.void);
  const lambda = refine(boundLambda(c, 0, [mapType.key, mapType.value]));
  const set = setterOf(lambda);
  const restoring = saved([lambda], c.place);
  const resultType = type(lambda, mapType);
  const run = step(lambda);
  const operation: Operation = {
    name: c.name,
    deterministic: true,
    compile:
      ([entries = nothing, body = nothing]) =>
      (row, frame) => {
        const value = entries(row, frame) as MapValue | null;
        if (value === null) return null;
        return restoring(frame, () =>
          run(value, (key, item) => {
            set(frame, key, item, null);
            return body(row, frame);
          }),
        );
      },
  };
  return call(operation, resultType, [map, lambda], c.place);
}

function mapFilter(c: FunctionCall): Expression {
  return mapCall(
    c,
    (_, map) => map,
    () => (map, each) => ({ entries: map.entries.filter(([k, v]) => each(k, v) === true) }),
    (lambda) => booleanBody(c, lambda),
  );
}

function transformValues(c: FunctionCall): Expression {
  return mapCall(
    c,
    (lambda, map) => mapOf(map.key, lambda.type),
    () => (map, each) => ({ entries: map.entries.map(([k, v]) => [k, each(k, v)] as const) }),
  );
}

function transformKeys(c: FunctionCall): Expression {
  return mapCall(
    c,
    (lambda, map) => {
      requireMapKey(lambda.type, c.place);
      return mapOf(lambda.type, map.value);
    },
    (lambda) => {
      const build = mapBuilder(lambda.type);
      return (map, each) => build(map.entries.map(([k, v]) => [each(k, v), v] as const));
    },
  );
}
