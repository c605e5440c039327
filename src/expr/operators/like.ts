import type { Place } from '../../base/place.ts';
import { formatType } from '../../data/type-text.ts';
import { strictCall } from '../call.ts';
import { constantValue, isConstant } from '../compile.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault, mismatch } from '../faults.ts';
import { parameter } from '../parameter.ts';
import { types } from '../types.ts';
import { and, or } from './logic.ts';

/** `LIKE` and `ILIKE`. Invariant: matching takes time of at most text times pattern, whatever the pattern. */
export function like(
  operator: 'like' | 'ilike',
  value: Expression,
  pattern: Expression,
  options: { readonly escapeCharacter: string; readonly place: Place },
): Expression {
  const { escapeCharacter, place } = options;
  const text = textOperand(operator, 1, value);
  const wanted = textOperand(operator, 2, pattern);
  const fold = operator === 'ilike' ? (s: string) => s.toLowerCase() : (s: string) => s;
  return strictCall({
    name: `${operator}(${JSON.stringify(escapeCharacter)})`,
    type: types.boolean,
    arguments: [text, wanted],
    place,
    prepare: () => {
      let known: string | undefined;
      let tokens: readonly Token[] = [];
      return (subject: string, source: string) => {
        if (source !== known) {
          tokens = parsePattern(fold(source), escapeCharacter);
          known = source;
        }
        return matches(fold(subject), tokens);
      };
    },
  });
}

/** `LIKE ANY (…)` is an OR, `LIKE ALL (…)` an AND of the single patterns. */
export function combineLikes(
  parts: readonly Expression[],
  quantifier: 'any' | 'all',
  place: Place,
): Expression {
  const combine = quantifier === 'any' ? or : and;
  const [first, ...rest] = parts;
  if (first === undefined) throw fault('PARSE_SYNTAX_ERROR', 'LIKE needs a pattern', place);
  return rest.reduce((left, right) => combine(left, right, place), first);
}

/** The escape character of a LIKE: a literal of one character. */
export function escapeOf(written: Expression | undefined, timeZone: string): string {
  if (written === undefined) return '\\';
  const value = isConstant(written) ? constantValue(written, timeZone) : null;
  if (typeof value === 'string' && [...value].length === 1) return value;
  const isText = typeof value === 'string' && written.node === 'literal';
  const refusal = isText ? 'INVALID_ESC' : 'INVALID_ESCAPE_CHAR';
  throw fault(refusal, 'ESCAPE needs a string of one character', written.place);
}

function textOperand(operator: string, index: number, value: Expression): Expression {
  const coerced = parameter.string.coerce(value);
  if (coerced !== undefined) return coerced;
  throw mismatch(
    'UNEXPECTED_INPUT_TYPE',
    `side ${index} of ${operator.toUpperCase()} must be a string, not ${formatType(value.type)}`,
    value.place,
  );
}

/** A code point to be met, one of any (`_`), or any number of any (`%`). */
type Token = number | 'one' | 'many';

function parsePattern(pattern: string, escapeCharacter: string): readonly Token[] {
  const tokens: Token[] = [];
  const characters = [...pattern];
  for (let i = 0; i < characters.length; i += 1) {
    const character = characters[i] ?? '';
    if (character === escapeCharacter) {
      i += 1;
      tokens.push(escaped(characters[i], escapeCharacter));
    } else if (character === '%') {
      if (tokens[tokens.length - 1] !== 'many') tokens.push('many');
    } else {
      tokens.push(character === '_' ? 'one' : (character.codePointAt(0) ?? 0));
    }
  }
  return tokens;
}

function escaped(character: string | undefined, escapeCharacter: string): number {
  if (character === undefined) {
    throw new ExpressionError(
      'INVALID_FORMAT.ESC_AT_THE_END',
      'the pattern of LIKE ends in its escape character',
    );
  }
  if (character !== '_' && character !== '%' && character !== escapeCharacter) {
    throw new ExpressionError(
      'INVALID_FORMAT.ESC_IN_THE_MIDDLE',
      `the escape character stands before ${character}, which needs none`,
    );
  }
  return character.codePointAt(0) ?? 0;
}

/** Greedy with one point of return, the last `%`: each step back moves it on by one. */
function matches(text: string, tokens: readonly Token[]): boolean {
  let at = 0;
  let token = 0;
  let many = -1;
  let resumeAt = 0;
  while (at < text.length) {
    const wanted = tokens[token];
    const code = text.codePointAt(at) ?? 0;
    if (wanted === 'many') {
      many = token;
      resumeAt = at;
      token += 1;
    } else if (wanted === 'one' || wanted === code) {
      at += width(code);
      token += 1;
    } else if (many >= 0) {
      resumeAt += width(text.codePointAt(resumeAt) ?? 0);
      at = resumeAt;
      token = many + 1;
    } else {
      return false;
    }
  }
  while (tokens[token] === 'many') token += 1;
  return token === tokens.length;
}

function width(code: number): number {
  return code > 0xffff ? 2 : 1;
}
