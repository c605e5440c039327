import { FaultError, type Place } from '../../base/place.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { SortKey } from '../../expr/aggregate.ts';
import { findAggregate } from '../../expr/aggregate-registry.ts';
import { literal } from '../../expr/call.ts';
import { castTo, commonType, writtenCast } from '../../expr/coerce.ts';
import { constantValue, isConstant } from '../../expr/compile.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault, mismatch } from '../../expr/faults.ts';
import { arithmetic } from '../../expr/operators/arithmetic.ts';
import { parameter } from '../../expr/parameter.ts';
import { isNumeric, types } from '../../expr/types.ts';
import type * as ast from '../../sql/ast.ts';
import { parseExpression } from '../../sql/parse.ts';
import { functionName } from '../bind/bind-call.ts';
import type { Bind } from '../bind/bind-expression.ts';
import { nameKey } from '../bind/names.ts';
import { bindAggregate, contains, sortKeys } from './batch-call.ts';
import {
  type FrameBound,
  isWindowNode,
  type WindowCall,
  type WindowFrame,
  type WindowFunction,
  type WindowNode,
} from './batch-plan.ts';

/** Binds a call with OVER: a ranking, a neighbour or an aggregate of the rows around. */
export function bindWindow(
  node: ast.CallExpression,
  bind: Bind,
  windows: ast.SelectQuery['windows'],
  timeZone: string,
): WindowNode {
  const spec = specOf(node, windows);
  const partitionBy = spec.partitionBy.map(bind);
  const order = sortKeys(spec.orderBy, bind);
  const found = functionOf(node, bind, timeZone, spec);
  for (const part of [...found.arguments, ...partitionBy, ...order.map((key) => key.value)]) {
    if (contains(part, isWindowNode)) {
      throw fault('NESTED_WINDOW_FUNCTION', 'a window function contains another one', part.place);
    }
  }
  const needsOrder = found.function.kind !== 'aggregate' && found.function.kind !== 'nth';
  if (needsOrder && order.length === 0) {
    throw fault(
      'WINDOW_FUNCTION_FRAME_NOT_ORDERED',
      `${functionName(node)} needs ORDER BY in its window`,
      spec.place,
    );
  }
  const limits: Expression[] = [];
  const frame = found.frame ?? frameOf(spec, order, limits, bind, timeZone);
  if (found.frame !== undefined && spec.frame !== undefined) {
    checkFixedFrame(node, spec, found.frame, bind, timeZone);
  }
  const window: WindowCall = {
    function: found.function,
    argumentCount: found.arguments.length,
    partitionCount: partitionBy.length,
    order: order.map(({ descending, nullsFirst }) => ({ descending, nullsFirst })),
    frame,
  };
  return {
    node: 'call',
    type: found.type,
    place: node.place,
    arguments: [...found.arguments, ...partitionBy, ...order.map((key) => key.value), ...limits],
    operation: {
      name: `${found.name} over ${JSON.stringify([window.order, frame, partitionBy.length, found.arguments.length])}`,
      deterministic: false,
      window,
      compile: () => {
        throw new TypeError(`${found.name} has no value for one row`);
      },
    },
  };
}

function specOf(node: ast.CallExpression, windows: ast.SelectQuery['windows']): ast.WindowSpec {
  const spec = node.window;
  if (spec === undefined) throw new TypeError('no window');
  const { reference } = spec;
  if (reference === undefined) return spec;
  const found = windows.find(({ name }) => nameKey(name.text) === nameKey(reference.text));
  if (found !== undefined) return found.spec;
  throw fault(
    'MISSING_WINDOW_SPECIFICATION',
    `there is no window ${reference.text}`,
    reference.place,
  );
}

// ---------------------------------------------------------------- functions

type Found = {
  readonly name: string;
  readonly function: WindowFunction;
  readonly type: DataType;
  readonly arguments: readonly Expression[];
  /** Where the function does not let it be chosen. */
  readonly frame?: WindowFrame;
};

const wholePartition: WindowFrame = { unit: 'rows', from: { at: 'start' }, to: { at: 'end' } };
const upToRow: WindowFrame = { unit: 'rows', from: { at: 'start' }, to: { at: 'current' } };

function functionOf(
  node: ast.CallExpression,
  bind: Bind,
  timeZone: string,
  spec: ast.WindowSpec,
): Found {
  const name = functionName(node);
  switch (name) {
    case 'row_number':
    case 'rank':
    case 'dense_rank':
      // What ranks count by is the order of the window, whatever else is said.
      requireCount(node, name, 0, name === 'row_number' ? 0 : Infinity);
      return {
        name,
        function: { kind: 'rank', name },
        type: types.int,
        arguments: [],
        frame: upToRow,
      };
    case 'percent_rank':
    case 'cume_dist':
      requireCount(node, name, 0, name === 'cume_dist' ? 0 : Infinity);
      return {
        name,
        function: { kind: 'rank', name },
        type: types.double,
        arguments: [],
        frame: name === 'cume_dist' ? { ...upToRow, unit: 'range' } : upToRow,
      };
    case 'ntile':
      return ntile(node, bind, timeZone);
    case 'lag':
    case 'lead':
      return shift(node, name, bind, timeZone);
    case 'nth_value':
      return nthValue(node, bind, timeZone);
    default:
      break;
  }
  const definition = findAggregate(name);
  if (definition === undefined) {
    throw fault('UNSUPPORTED_EXPR_FOR_WINDOW', `${name} is no window function`, node.place);
  }
  if (node.distinct && node.withinGroup === undefined) {
    throw fault('DISTINCT_WINDOW_FUNCTION_UNSUPPORTED', 'a window has no DISTINCT', node.place);
  }
  const aggregate = bindAggregate(definition, { ...node, window: undefined }, bind, {
    timeZone,
    star: (star) => {
      throw fault('INVALID_USAGE_OF_STAR_OR_REGEX', 'a star can not stand here', star.place);
    },
  });
  const isWhole = node.withinGroup !== undefined || name === 'median';
  if (isWhole && (spec.orderBy.length > 0 || spec.frame !== undefined)) {
    throw fault(
      'INVALID_WINDOW_SPEC_FOR_AGGREGATION_FUNC',
      `the window of ${name} has neither an order nor a frame`,
      node.place,
    );
  }
  return {
    name: aggregate.operation.name,
    function: { kind: 'aggregate', aggregate },
    type: aggregate.type,
    arguments: aggregate.arguments,
  };
}

function requireCount(node: ast.CallExpression, name: string, least: number, most: number): void {
  const count = node.arguments.length + node.named.length;
  if (count >= least && count <= most) return;
  throw fault(
    'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
    `${name} takes ${least === most ? least : `${least} to ${most}`} arguments, not ${count}`,
    node.place,
  );
}

function constant(node: ast.Expression, bind: Bind, timeZone: string, what: string): number | null {
  const bound = bind(node);
  const coerced = parameter.int.coerce(bound);
  if (coerced === undefined) {
    throw mismatch('UNEXPECTED_INPUT_TYPE', `${what} must be an int`, node.place);
  }
  if (!isConstant(coerced)) {
    throw mismatch('NON_FOLDABLE_INPUT', `${what} must be constant`, node.place);
  }
  return constantValue(coerced, timeZone) as number | null;
}

function ntile(node: ast.CallExpression, bind: Bind, timeZone: string): Found {
  requireCount(node, 'ntile', 0, 1);
  const [given] = node.arguments;
  const buckets =
    given === undefined ? 1 : constant(given, bind, timeZone, 'the number of buckets');
  if (buckets === null || buckets < 1) {
    throw mismatch('VALUE_OUT_OF_RANGE', 'the number of buckets must be 1 or more', node.place);
  }
  return {
    name: `ntile(${buckets})`,
    function: { kind: 'ntile', buckets },
    type: types.int,
    arguments: [],
    frame: upToRow,
  };
}

function shift(
  node: ast.CallExpression,
  name: 'lag' | 'lead',
  bind: Bind,
  timeZone: string,
): Found {
  requireCount(node, name, 1, 3);
  const [first, second, third] = node.arguments;
  if (first === undefined) throw new TypeError('no argument');
  const value = bind(first);
  const given = third === undefined ? literal(null, types.void, node.place) : bind(third);
  const type = commonType(value.type, given.type);
  if (type === undefined || formatType(type) !== formatType(value.type)) {
    throw mismatch(
      'DATA_DIFF_TYPES',
      `${name} of ${formatType(value.type)} has a default of ${formatType(given.type)}`,
      given.place,
    );
  }
  const offset = second === undefined ? 1 : constant(second, bind, timeZone, 'the offset');
  if (offset === null) throw mismatch('UNEXPECTED_NULL', 'the offset is NULL', node.place);
  const by = name === 'lead' ? offset : -offset;
  return {
    name: `${name}(${formatType(type)},${offset})${node.ignoreNulls}`,
    function: { kind: 'shift', by, ignoreNulls: node.ignoreNulls },
    type,
    arguments: [value, castTo(given, type)],
    frame: wholePartition,
  };
}

function nthValue(node: ast.CallExpression, bind: Bind, timeZone: string): Found {
  requireCount(node, 'nth_value', 2, 2);
  const [first, second] = node.arguments;
  if (first === undefined || second === undefined) throw new TypeError('no argument');
  const value = bind(first);
  const n = constant(second, bind, timeZone, 'the position');
  if (n === null) throw mismatch('UNEXPECTED_NULL', 'the position is NULL', second.place);
  if (n < 1) throw mismatch('VALUE_OUT_OF_RANGE', 'the position must be 1 or more', second.place);
  return {
    name: `nth_value(${formatType(value.type)},${n})${node.ignoreNulls}`,
    function: { kind: 'nth', n, ignoreNulls: node.ignoreNulls },
    type: value.type,
    arguments: [value],
  };
}

// ---------------------------------------------------------------- frames

function frameOf(
  spec: ast.WindowSpec,
  order: readonly SortKey[],
  limits: Expression[],
  bind: Bind,
  timeZone: string,
): WindowFrame {
  if (spec.frame === undefined) {
    return order.length === 0 ? wholePartition : { ...upToRow, unit: 'range' };
  }
  const match = /^\s*(rows|range)\s+(?:between\s+([\s\S]+?)\s+and\s+([\s\S]+)|([\s\S]+))$/i.exec(
    spec.frame,
  );
  if (match === null) throw fault('PARSE_SYNTAX_ERROR', 'the frame is not understood', spec.place);
  const unit = match[1]?.toLowerCase() === 'range' ? 'range' : 'rows';
  if (unit === 'range' && order.length === 0) {
    throw mismatch('RANGE_FRAME_WITHOUT_ORDER', 'RANGE needs ORDER BY', spec.place);
  }
  const bound = (text: string): FrameBound =>
    frameBound(text, { unit, order, limits, bind, timeZone, place: spec.place });
  const from = bound(match[2] ?? match[4] ?? '');
  const to: FrameBound = match[3] === undefined ? { at: 'current' } : bound(match[3]);
  if (from.at === 'end' || to.at === 'start') {
    throw mismatch(
      'SPECIFIED_WINDOW_FRAME_INVALID_BOUND',
      'the frame ends before it begins',
      spec.place,
    );
  }
  const [first, last] = [sideOf(match[2] ?? '', from), sideOf(match[3] ?? '', to)];
  const isTurned = from.at === 'rows' && to.at === 'rows' ? from.offset > to.offset : first > last;
  if (isTurned) {
    throw mismatch(
      'SPECIFIED_WINDOW_FRAME_WRONG_COMPARISON',
      'the frame ends before it begins',
      spec.place,
    );
  }
  return { unit, from, to };
}

/** Before the row, at it or behind it. */
function sideOf(text: string, bound: FrameBound): number {
  if (bound.at === 'rows') return Math.sign(bound.offset);
  if (/\spreceding\s*$/i.test(text)) return -1;
  return /\sfollowing\s*$/i.test(text) ? 1 : 0;
}

type BoundOptions = {
  readonly unit: 'rows' | 'range';
  readonly order: readonly SortKey[];
  readonly limits: Expression[];
  readonly bind: Bind;
  readonly timeZone: string;
  readonly place: Place;
};

function frameBound(text: string, options: BoundOptions): FrameBound {
  const { unit, order, limits, bind, timeZone, place } = options;
  if (/^unbounded\s+preceding$/i.test(text)) return { at: 'start' };
  if (/^unbounded\s+following$/i.test(text)) return { at: 'end' };
  if (/^current\s+row$/i.test(text)) return { at: 'current' };
  const match = /^([\s\S]+?)\s+(preceding|following)$/i.exec(text.trim());
  if (match?.[1] === undefined)
    throw fault('PARSE_SYNTAX_ERROR', 'the frame is not understood', place);
  const isBefore = match[2]?.toLowerCase() === 'preceding';
  const offset = bind(parseExpression(match[1], place.file));
  if (!isConstant(offset)) {
    throw mismatch('SPECIFIED_WINDOW_FRAME_WITHOUT_FOLDABLE', 'a bound must be constant', place);
  }
  if (unit === 'rows') {
    const value = parameter.int.accepts(offset.type) ? constantValue(offset, timeZone) : undefined;
    if (typeof value !== 'number') {
      throw mismatch('SPECIFIED_WINDOW_FRAME_UNACCEPTED_TYPE', 'a bound of ROWS is an int', place);
    }
    return { at: 'rows', offset: isBefore ? -value : value };
  }
  const [key, ...others] = order;
  if (key === undefined || others.length > 0) {
    throw mismatch('RANGE_FRAME_MULTI_ORDER', 'RANGE with a value needs one order', place);
  }
  const away = isBefore !== key.descending;
  const distance = distanceOf(offset, key.value.type);
  const moved = movedBy(away ? '-' : '+', key.value, distance, place);
  if (!isComparable(moved.type, key.value.type)) {
    throw mismatch(
      'RANGE_FRAME_INVALID_TYPE',
      `${formatType(offset.type)} is no distance between values of ${formatType(key.value.type)}`,
      place,
    );
  }
  return { at: 'value', index: limits.push(moved) - 1 };
}

/** Whether values can be compared as they are: decimals may have more digits before the point. */
function isComparable(a: DataType, b: DataType): boolean {
  if (a.kind === 'decimal' && b.kind === 'decimal') return a.scale === b.scale;
  return formatType(a) === formatType(b);
}

/** The distance in the type that numbers of the order have. */
function distanceOf(offset: Expression, type: DataType): Expression {
  const isText = offset.type.kind === 'string';
  if (!isNumeric(type) || !(isNumeric(offset.type) || isText)) return offset;
  return writtenCast(offset, type, 'ansi', offset.place);
}

function movedBy(
  operator: '+' | '-',
  value: Expression,
  distance: Expression,
  place: Place,
): Expression {
  try {
    return arithmetic(operator, value, distance, { place });
  } catch (error) {
    if (!(error instanceof FaultError)) throw error;
    throw mismatch(
      'RANGE_FRAME_INVALID_TYPE',
      `${formatType(distance.type)} is no distance between values of ${formatType(value.type)}`,
      place,
    );
  }
}

function checkFixedFrame(
  node: ast.CallExpression,
  spec: ast.WindowSpec,
  fixed: WindowFrame,
  bind: Bind,
  timeZone: string,
): void {
  const given = frameOf(spec, sortKeys(spec.orderBy, bind), [], bind, timeZone);
  if (JSON.stringify(given) === JSON.stringify(fixed)) return;
  throw fault(
    '_LEGACY_ERROR_TEMP_1036',
    `${functionName(node)} has a frame of its own`,
    spec.place,
  );
}
