import type { IToken, TokenType } from 'chevrotain';
import { FaultError, type Place } from '../base/place.ts';
import type { ForeignClause, Identifier, Name } from './ast.ts';
import { EmbeddedActionsParser, tokenMatcher } from './parser-library.ts';
import { syntaxMessages } from './syntax-messages.ts';
import { textOfLiteral } from './text-literal.ts';
import {
  CloseParen,
  Comma,
  Dot,
  K,
  OpenParen,
  PlainWord,
  QuotedWord,
  Text,
  vocabulary,
  Word,
} from './tokens.ts';
import { wordUse } from './word-use.ts';

/** How deep expressions, queries and types may stand inside each other. */
const nestingMax = 150;

/**
 * What every part of the grammar uses: looking ahead, places, names, texts. Invariant: a rule decides
 * by the tokens in front of it, at most a bounded number of them or up to the closing parenthesis, and
 * never tries and goes back; so a parse takes time linear in the number of tokens.
 */
export abstract class GrammarBase extends EmbeddedActionsParser {
  #source = '';
  #file = '';
  #depth = 0;
  /** From an opening parenthesis to its partner: the number of tokens between them, plus one. */
  #closing: ReadonlyMap<IToken, number> = new Map();

  /** `validate` compares alternatives at length; a test asks for it, a start has no time for it. */
  constructor(validate: boolean) {
    super(vocabulary, {
      maxLookahead: 1,
      skipValidations: !validate,
      errorMessageProvider: syntaxMessages,
    });
  }

  /** Takes the tokens of one statement; `source` is the whole text that they are places in. */
  load(tokens: IToken[], source: string, file: string): void {
    this.#source = source;
    this.#file = file;
    this.#depth = 0;
    this.#closing = distancesToClosing(tokens);
    this.input = tokens;
  }

  // -------------------------------------------------------------- looking ahead

  protected is(distance: number, ...types: readonly TokenType[]): boolean {
    return types.includes(this.LA(distance).tokenType);
  }

  protected isOneOf(distance: number, types: ReadonlySet<TokenType>): boolean {
    return types.has(this.LA(distance).tokenType);
  }

  /** Whether the tokens in front are these, in this order. */
  protected sees(...types: readonly TokenType[]): boolean {
    return types.every((type, index) => this.LA(index + 1).tokenType === type);
  }

  protected isWord(distance: number): boolean {
    return tokenMatcher(this.LA(distance), Word);
  }

  /** An identifier, as distinct from a keyword. */
  protected isPlainName(distance: number): boolean {
    return this.is(distance, PlainWord, QuotedWord);
  }

  /** The distance of the token behind the parenthesis that closes the one at `distance`; 0 if none does. */
  protected behindParens(distance: number): number {
    const length = this.#closing.get(this.LA(distance));
    return length === undefined ? 0 : distance + length + 1;
  }

  /** The distance of the first token behind `a.b.c`, which begins at `distance`. */
  protected behindName(distance: number): number {
    let end = distance + 1;
    while (this.is(end, Dot) && this.isWord(end + 1)) end += 2;
    return end;
  }

  // -------------------------------------------------------------- places and faults

  protected placeOf(token: IToken): Place {
    return this.span(token, token);
  }

  /** From the token to the one that was consumed last. */
  protected placeFrom(first: IToken): Place {
    return this.span(first, this.LA(0));
  }

  /** Tokens that are arguments of a rule do not exist while the grammar is recorded, hence ACTION. */
  protected span(first: IToken, last: IToken): Place {
    return this.ACTION(() => ({
      file: this.#file,
      start: first.startOffset,
      end: Math.max((last.endOffset ?? last.startOffset) + 1, first.startOffset),
      line: first.startLine ?? 1,
      column: first.startColumn ?? 1,
    }));
  }

  /** The source from the token to the one that was consumed last. */
  protected textFrom(first: IToken): string {
    return this.ACTION(() => {
      const { start, end } = this.placeFrom(first);
      return this.#source.slice(start, end);
    });
  }

  protected refuse(
    place: Place,
    message: string,
    hint?: string,
    code = 'PARSE_SYNTAX_ERROR',
  ): never {
    const more = hint === undefined ? {} : { hint };
    throw new FaultError({ severity: 'error', code, message, ...more, place });
  }

  /** Called where the grammar descends into itself; `ascend` must follow unless a fault is thrown. */
  protected descend(): void {
    this.#depth += 1;
    if (this.#depth > nestingMax) {
      this.refuse(
        this.placeOf(this.LA(1)),
        `nested deeper than ${nestingMax} levels`,
        'Take the inner parts out into views or common table expressions.',
        'NESTING_TOO_DEEP',
      );
    }
  }

  protected ascend(): void {
    this.#depth -= 1;
  }

  // -------------------------------------------------------------- words and texts

  readonly identifier = this.RULE(
    'identifier',
    (): Identifier => this.identifierOf(this.CONSUME(Word)),
  );

  protected identifierOf(token: IToken): Identifier {
    const place = this.placeOf(token);
    if (token.tokenType !== QuotedWord) {
      return { text: token.image, quoted: wordUse.mostlyClause.has(token.tokenType), place };
    }
    return { text: token.image.slice(1, -1).replaceAll('``', '`'), quoted: true, place };
  }

  /** What a token stands for. */
  protected meaning<T>(_token: IToken, value: T): T {
    return value;
  }

  /** The word in upper case; a token that is one of several does not exist while the grammar is recorded. */
  protected upper(token: IToken): string {
    return this.ACTION(() => token.image.toUpperCase());
  }

  /** `a.b.c`. */
  readonly name = this.RULE('name', (): Name => {
    const first = this.LA(1);
    const parts = [this.SUBRULE(this.identifier)];
    this.MANY({
      GATE: () => this.isWord(2),
      DEF: () => {
        this.CONSUME(Dot);
        parts.push(this.SUBRULE2(this.identifier));
      },
    });
    return { parts, place: this.placeFrom(first) };
  });

  /** `(a, b)`, or `()`. */
  readonly identifiers = this.RULE('identifiers', (): Identifier[] => {
    const list: Identifier[] = [];
    this.CONSUME(OpenParen);
    this.MANY_SEP({ SEP: Comma, DEF: () => list.push(this.SUBRULE(this.identifier)) });
    this.CONSUME(CloseParen);
    return list;
  });

  /** `(a, b)`. */
  readonly someIdentifiers = this.RULE('someIdentifiers', (): Identifier[] => {
    const list: Identifier[] = [];
    this.CONSUME(OpenParen);
    this.AT_LEAST_ONE_SEP({ SEP: Comma, DEF: () => list.push(this.SUBRULE(this.identifier)) });
    this.CONSUME(CloseParen);
    return list;
  });

  /** One or more adjacent literals, joined. */
  readonly text = this.RULE('text', (): string => {
    let joined = '';
    this.AT_LEAST_ONE(() => {
      joined += textOfLiteral(this.CONSUME(Text).image);
    });
    return joined;
  });

  /** From one parenthesis to its partner, whatever stands between. */
  readonly balanced = this.RULE('balanced', (): void => {
    const inside = this.behindParens(1) - 3;
    this.CONSUME(OpenParen);
    this.ACTION(() => this.skip(inside));
    this.CONSUME(CloseParen);
  });

  protected skip(count: number): void {
    for (let skipped = 0; skipped < count; skipped += 1) this.SKIP_TOKEN();
  }

  protected foreignClause(clause: string, first: IToken): ForeignClause {
    return { clause, text: this.textFrom(first), place: this.placeFrom(first) };
  }

  readonly ifNotExists = this.RULE('ifNotExists', (): void => {
    this.CONSUME(K.IF);
    this.CONSUME(K.NOT);
    this.CONSUME(K.EXISTS);
  });
}

function distancesToClosing(tokens: readonly IToken[]): ReadonlyMap<IToken, number> {
  const distances = new Map<IToken, number>();
  const open: { token: IToken; index: number }[] = [];
  tokens.forEach((token, index) => {
    if (token.tokenType === OpenParen) open.push({ token, index });
    else if (token.tokenType === CloseParen) {
      const partner = open.pop();
      if (partner !== undefined) distances.set(partner.token, index - partner.index);
    }
  });
  return distances;
}
