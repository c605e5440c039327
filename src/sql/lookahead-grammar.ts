import type { TokenType } from 'chevrotain';
import { GrammarBase } from './grammar-base.ts';
import { tokenMatcher } from './parser-library.ts';
import { Comma, Dot, K, Minus, Numeral, OpenParen, Plus, Star, Text, Unit } from './tokens.ts';
import { wordUse } from './word-use.ts';

/**
 * What begins with the tokens in front: a name, an alias, a query, a call, an interval. Invariant: nothing
 * here consumes a token.
 */
export abstract class LookaheadGrammar extends GrammarBase {
  /** Whether the token can only stand behind a complete name, so that what precedes it is one. */
  protected endsName(distance: number): boolean {
    return this.isOneOf(distance, wordUse.behindName);
  }

  protected startsName(): boolean {
    const isFree = !this.isOneOf(1, wordUse.reserved);
    return isFree || this.endsName(2) || this.is(2, Minus, Plus, Star);
  }

  /** Whether a word is an alias without AS, not the beginning of the next clause. */
  protected startsAlias(distance = 1): boolean {
    if (!this.isWord(distance)) return false;
    if (this.isPlainName(distance) || this.is(distance + 1, Comma)) return true;
    if (this.is(distance + 1, K.FROM) && this.isOneOf(distance, wordUse.aliasBeforeFrom))
      return true;
    if (this.is(distance, K.WATERMARK)) return !this.startsWatermark(distance);
    if (this.isOneOf(distance, wordUse.neverAlias)) return false;
    const second = wordUse.clausePairs.get(this.LA(distance).tokenType);
    return second === undefined || !this.isOneOf(distance + 1, second);
  }

  /** Whether what stands there is a watermark, not a table that is called so. */
  protected startsWatermark(distance = 1): boolean {
    return this.is(distance, K.WATERMARK) && !this.endsTable(distance + 1);
  }

  /** Whether the token belongs to what follows a table, so that what precedes it is the table or its alias. */
  protected endsTable(distance: number): boolean {
    return this.isOneOf(distance, wordUse.neverAlias) || this.endsName(distance);
  }

  /** Whether a query begins there, as distinct from an expression. */
  protected startsQuery(distance: number): boolean {
    if (!this.is(distance, OpenParen)) return this.startsBareQuery(distance);
    let inside = distance;
    while (this.is(inside, OpenParen)) inside += 1;
    return (
      this.startsBareQuery(inside) &&
      this.isOneOf(this.behindParens(distance), wordUse.continuesQuery)
    );
  }

  protected startsBareQuery(distance: number): boolean {
    if (this.is(distance, K.SELECT))
      return !this.endsName(distance + 1) || this.is(distance + 1, K.FROM);
    if (this.is(distance, K.VALUES)) return !this.endsName(distance + 1);
    return this.is(distance, K.WITH, K.FROM, K.TABLE) && this.startsOperand(distance + 1);
  }

  protected startsOperand(distance: number): boolean {
    return this.isWord(distance) || this.is(distance, OpenParen);
  }

  protected startsStar(): boolean {
    const end = this.isWord(1) ? this.behindName(1) : 0;
    return this.is(1, Star) || (end > 0 && this.is(end, Dot) && this.is(end + 1, Star));
  }

  protected startsCall(): boolean {
    if (this.is(1, K.SELECT)) return false;
    const end = this.behindName(1);
    // `f (SELECT` is no call: a query in an argument has its own parentheses.
    return this.is(end, OpenParen) && !(this.is(end + 1, K.SELECT) && !this.endsName(end + 2));
  }

  /** Whether the word, and no comma, stands directly in the parentheses behind the first token. */
  protected hasInside(word: TokenType): boolean {
    const end = this.behindParens(2) - 1;
    let isInside = false;
    for (let at = 3; at < end; at += 1) {
      if (this.is(at, Comma)) return false;
      isInside ||= this.is(at, word) && !this.is(at - 1, K.DISTINCT);
      if (this.is(at, OpenParen)) at = Math.max(at, this.behindParens(at) - 1);
    }
    return isInside;
  }

  protected isUnit(distance: number): boolean {
    return tokenMatcher(this.LA(distance), Unit);
  }

  /** Whether `[sign] number unit` stands there. */
  protected startsUnit(distance: number): boolean {
    const at = this.is(distance, Minus, Plus) ? distance + 1 : distance;
    return this.is(at, Numeral, Text) && this.isUnit(at + 1);
  }

  protected startsInterval(): boolean {
    return this.is(2, Text, Numeral) || this.startsUnit(2);
  }
}
