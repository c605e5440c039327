import { localToUtc, type Zone } from '../../data/zones.ts';
import { constantValue, isConstant } from '../compile.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault } from '../faults.ts';
import { type ParsedTime, parsePattern } from './parse-pattern.ts';
import { type PatternElement, PatternError, type PatternUse, readPattern } from './pattern.ts';
import { printPattern } from './print-pattern.ts';

/** A constant pattern that is wrong is told when the query is checked. */
export function checkConstantPattern(
  pattern: Expression | undefined,
  use: PatternUse,
  timeZone: string,
): void {
  if (pattern === undefined || !isConstant(pattern)) return;
  const text = constantValue(pattern, timeZone);
  if (typeof text !== 'string') return;
  try {
    readPattern(text, use);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw fault(
      error.errorClass,
      `the pattern '${text}' is refused: ${error.message}`,
      pattern.place,
    );
  }
}

/** Reads patterns as they come and remembers the last one, which is nearly always the only one. */
function remembered(use: PatternUse): (pattern: string) => readonly PatternElement[] {
  let known: string | undefined;
  let elements: readonly PatternElement[] = [];
  return (pattern) => {
    if (pattern !== known) {
      elements = readOnRow(pattern, use);
      known = pattern;
    }
    return elements;
  };
}

function readOnRow(pattern: string, use: PatternUse): readonly PatternElement[] {
  try {
    return readPattern(pattern, use);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw new ExpressionError(
      error.errorClass,
      `the pattern '${pattern}' is refused: ${error.message}`,
    );
  }
}

export function timestampPrinter(zone: Zone): (micros: bigint, pattern: string) => string {
  const elementsOf = remembered('print');
  return (micros, pattern) => printPattern(elementsOf(pattern), micros, zone);
}

/** Reads local times; undefined when the text does not fit. */
export function localParser(
  use: 'parse' | 'parse_local' = 'parse',
): (text: string, pattern: string) => ParsedTime | undefined {
  const elementsOf = remembered(use);
  return (text, pattern) => parsePattern(elementsOf(pattern), text);
}

/** The instant that was read; local times are those of `zone`. */
export function instantOf(parsed: ParsedTime, zone: Zone): bigint {
  return localToUtc(parsed.zone ?? zone, parsed.localMicros);
}

export function cannotParse(text: string, pattern: string): ExpressionError {
  return new ExpressionError(
    'CANNOT_PARSE_TIMESTAMP',
    `the text '${text.slice(0, 60)}' does not fit the pattern '${pattern}'`,
  );
}
