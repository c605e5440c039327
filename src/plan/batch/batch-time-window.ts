import { literal } from '../../expr/call.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault } from '../../expr/faults.ts';
import type { BoundGenerator } from '../../expr/generator.ts';
import {
  checkLengths,
  sessionGenerator,
  type WindowLengths,
  windowGenerator,
  windowLength,
  windowTime,
} from '../../expr/time-window.ts';
import { types } from '../../expr/types.ts';
import type * as ast from '../../sql/ast.ts';
import { functionName } from '../bind/bind-call.ts';
import type { Bind } from '../bind/bind-expression.ts';

export type BoundTimeWindow = {
  readonly name: string;
  readonly time: Expression;
  readonly generator: BoundGenerator;
  /** undefined of a session. */
  readonly lengths?: WindowLengths;
  readonly isSession: boolean;
};

export function isTimeWindow(name: string): boolean {
  return name === 'window' || name === 'session_window';
}

/** Binds `window(time, length[, slide[, start]])` or `session_window(time, gap)`. */
export function boundTimeWindow(
  node: ast.CallExpression,
  bind: Bind,
  timeZone: string,
): BoundTimeWindow {
  const name = functionName(node);
  const isSession = name === 'session_window';
  const [least, most] = isSession ? [2, 2] : [2, 4];
  const count = node.arguments.length;
  if (count < least || count > most) {
    throw fault(
      'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
      `${name} takes ${least === most ? least : `${least} to ${most}`} arguments, not ${count}`,
      node.place,
    );
  }
  const [first, ...rest] = node.arguments.map(bind);
  if (first === undefined) throw new TypeError('no argument');
  const time = windowTime(name, first);
  const [one, two, three] = rest.map((argument) => ({
    argument,
    micros: windowLength(argument, timeZone),
  }));
  const duration = one?.micros ?? 0n;
  if (isSession) {
    const gap = literal(duration, types.bigint, one?.argument.place ?? node.place);
    return {
      name: `session(${duration})`,
      time,
      generator: sessionGenerator(time, gap),
      isSession,
    };
  }
  const lengths = { duration, slide: two?.micros ?? duration, start: three?.micros ?? 0n };
  checkLengths(lengths, node.place);
  const generator = windowGenerator(time, lengths);
  return { name: generator.name, time, generator, isSession, lengths };
}
