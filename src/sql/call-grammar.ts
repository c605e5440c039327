import { type IToken, type ParserMethod, type TokenType, tokenMatcher } from 'chevrotain';
import type { Place } from '../base/place.ts';
import type {
  CallExpression,
  Expression,
  Identifier,
  IntervalUnit,
  Name,
  OrderItem,
  Query,
  WindowSpec,
} from './ast.ts';
import { binding } from './operator-table.ts';
import { textOfLiteral } from './text-literal.ts';
import {
  Arrow,
  CloseParen,
  Comma,
  Dot,
  FatArrow,
  K,
  Minus,
  Numeral,
  OpenParen,
  Plus,
  Star,
  Text,
  Unit,
  Word,
} from './tokens.ts';
import { TypeGrammar } from './type-grammar.ts';
import { wordUse } from './word-use.ts';

/**
 * Literals, columns and calls: every operand that begins with a word or a literal. Invariant: a keyword
 * is read as a name exactly where Spark would, apart from clause words that begin nothing but a mistake.
 */
export abstract class CallGrammar extends TypeGrammar {
  abstract readonly query: ParserMethod<[], Query>;
  abstract readonly caseExpression: ParserMethod<[], Expression>;
  abstract readonly castCall: ParserMethod<[], Expression>;
  abstract readonly existsCall: ParserMethod<[], Expression>;

  // -------------------------------------------------------------- looking ahead

  /** Whether the token can only stand behind a complete name, so that what precedes it is one. */
  protected endsName(distance: number): boolean {
    return this.isOneOf(distance, wordUse.behindName);
  }

  private startsName(): boolean {
    const isFree = !this.isOneOf(1, wordUse.reserved);
    return isFree || this.endsName(2) || this.is(2, Minus, Plus, Star);
  }

  /** Whether a word in front is an alias without AS, not the beginning of the next clause. */
  protected startsAlias(): boolean {
    if (!this.isWord(1)) return false;
    if (this.isPlainName(1) || this.is(2, Comma)) return true;
    if (this.isOneOf(1, wordUse.neverAlias)) return false;
    const second = wordUse.clausePairs.get(this.LA(1).tokenType);
    return second === undefined || !this.isOneOf(2, second);
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

  private startsBareQuery(distance: number): boolean {
    if (this.is(distance, K.SELECT))
      return !this.endsName(distance + 1) || this.is(distance + 1, K.FROM);
    if (this.is(distance, K.VALUES)) return !this.endsName(distance + 1);
    return this.is(distance, K.WITH, K.FROM, K.TABLE) && this.startsOperand(distance + 1);
  }

  private startsOperand(distance: number): boolean {
    return this.isWord(distance) || this.is(distance, OpenParen);
  }

  protected startsStar(): boolean {
    const end = this.isWord(1) ? this.behindName(1) : 0;
    return this.is(1, Star) || (end > 0 && this.is(end, Dot) && this.is(end + 1, Star));
  }

  protected startsCall(): boolean {
    const end = this.behindName(1);
    // `f (SELECT` is no call: a query in an argument has its own parentheses.
    return this.is(end, OpenParen) && !(this.is(end + 1, K.SELECT) && !this.endsName(end + 2));
  }

  /** Whether the word, and no comma before it, stands directly in the parentheses behind the first token. */
  private hasInside(word: TokenType): boolean {
    const end = this.behindParens(2) - 1;
    for (let at = 3; at < end && !this.is(at, Comma); at += 1) {
      if (this.is(at, word) && !this.is(at - 1, K.DISTINCT)) return true;
      if (this.is(at, OpenParen)) at = Math.max(at, this.behindParens(at) - 1);
    }
    return false;
  }

  private isUnit(distance: number): boolean {
    return tokenMatcher(this.LA(distance), Unit);
  }

  /** Whether `[sign] number unit` stands there. */
  private startsUnit(distance: number): boolean {
    const at = this.is(distance, Minus, Plus) ? distance + 1 : distance;
    return this.is(at, Numeral, Text) && this.isUnit(at + 1);
  }

  private startsInterval(): boolean {
    return this.is(2, Text, Numeral) || this.startsUnit(2);
  }

  // -------------------------------------------------------------- literals

  readonly numeral = this.RULE('numeral', (): Expression => {
    const token = this.CONSUME(Numeral);
    const [, text = '', suffix = ''] = /^(.*?)(bd|[lsyfd]?)$/i.exec(token.image) ?? [];
    return { node: 'number', text, suffix: suffix.toUpperCase(), place: this.placeOf(token) };
  });

  /** A minus before a number belongs to the number, ahead of `::` and `[…]`. */
  readonly negativeNumeral = this.RULE('negativeNumeral', (): Expression => {
    const sign = this.CONSUME(Minus);
    const operand = this.SUBRULE(this.numeral);
    return { node: 'unary', operator: '-', operand, place: this.placeFrom(sign) };
  });

  readonly string = this.RULE('string', (): Expression => {
    const first = this.LA(1);
    const value = this.SUBRULE(this.text);
    return { node: 'string', value, place: this.placeFrom(first) };
  });

  readonly typedLiteral = this.RULE('typedLiteral', (): Expression => {
    const word = this.CONSUME(Word);
    const text = textOfLiteral(this.CONSUME(Text).image);
    const type = word.image.toLowerCase();
    if (!wordUse.typedLiterals.has(type)) {
      this.ACTION(() =>
        this.refuse(
          this.placeFrom(word),
          `found a string behind ${word.image}, which is no type of literal`,
          'Literals with a type are DATE, TIMESTAMP, TIMESTAMP_NTZ, TIMESTAMP_LTZ, TIME, INTERVAL and X.',
        ),
      );
    }
    return { node: 'typed', type, text, place: this.placeFrom(word) };
  });

  readonly interval = this.RULE('interval', (): Expression => {
    const first = this.CONSUME(K.INTERVAL);
    return this.OR<Expression>([
      {
        GATE: () => !this.isUnit(2),
        ALT: () => {
          const text = this.SUBRULE(this.text);
          return { node: 'typed', type: 'interval', text, place: this.placeFrom(first) };
        },
      },
      { ALT: () => this.SUBRULE(this.intervalUnits, { ARGS: [first] }) },
    ]);
  });

  readonly intervalUnits = this.RULE('intervalUnits', (first: IToken): Expression => {
    const units = [this.SUBRULE(this.intervalUnit)];
    let to: string | undefined;
    this.OPTION({
      GATE: () => this.isUnit(2),
      DEF: () => {
        this.CONSUME(K.TO);
        to = this.CONSUME(Unit).image.toLowerCase();
      },
    });
    this.MANY({
      GATE: () => to === undefined && this.startsUnit(1),
      DEF: () => units.push(this.SUBRULE2(this.intervalUnit)),
    });
    const place = this.placeFrom(first);
    return this.ACTION(() => intervalOf(units, to, place));
  });

  readonly intervalUnit = this.RULE('intervalUnit', (): IntervalUnit => {
    const first = this.LA(1);
    let negative = false;
    this.OPTION(() =>
      this.OR([
        {
          ALT: () => {
            this.CONSUME(Minus);
            negative = true;
          },
        },
        { ALT: () => this.CONSUME(Plus) },
      ]),
    );
    const amount = this.OR2<Expression>([
      { ALT: () => this.SUBRULE(this.numeral) },
      { ALT: () => this.SUBRULE(this.string) },
    ]);
    const amountPlace = this.placeFrom(first);
    const value: Expression = negative
      ? { node: 'unary', operator: '-', operand: amount, place: amountPlace }
      : amount;
    const unit = this.CONSUME(Unit).image.toLowerCase().replace(/s$/, '');
    return { value, unit, place: this.placeFrom(first) };
  });

  // -------------------------------------------------------------- operands that begin with a word

  readonly wordExpression = this.RULE('wordExpression', (): Expression => {
    const opens = (): boolean => this.is(2, OpenParen);
    return this.OR<Expression>([
      { GATE: () => this.is(2, Arrow), ALT: () => this.SUBRULE(this.lambda) },
      { GATE: () => this.startsInterval(), ALT: () => this.SUBRULE(this.interval) },
      {
        GATE: () => this.is(2, Text) && !this.isOneOf(1, wordUse.reserved),
        ALT: () => this.SUBRULE(this.typedLiteral),
      },
      { ALT: () => this.SUBRULE(this.constant) },
      { GATE: () => !this.endsName(2), ALT: () => this.SUBRULE(this.caseExpression) },
      { GATE: opens, ALT: () => this.SUBRULE(this.castCall) },
      { GATE: () => opens() && this.startsQuery(3), ALT: () => this.SUBRULE(this.existsCall) },
      { GATE: opens, ALT: () => this.SUBRULE(this.extract) },
      { GATE: () => opens() && this.hasInside(K.FROM), ALT: () => this.SUBRULE(this.trim) },
      { GATE: () => opens() && this.hasInside(K.FROM), ALT: () => this.SUBRULE(this.substring) },
      { GATE: () => opens() && this.hasInside(K.IN), ALT: () => this.SUBRULE(this.position) },
      { GATE: () => opens() && this.hasInside(K.PLACING), ALT: () => this.SUBRULE(this.overlay) },
      { GATE: () => this.startsCall(), ALT: () => this.SUBRULE(this.call) },
      { GATE: () => this.startsName(), ALT: () => this.SUBRULE(this.columnName) },
    ]);
  });

  readonly constant = this.RULE(
    'constant',
    (): Expression =>
      this.OR<Expression>([
        { ALT: () => ({ node: 'null', place: this.placeOf(this.CONSUME(K.NULL)) }) },
        {
          ALT: () => ({ node: 'boolean', value: true, place: this.placeOf(this.CONSUME(K.TRUE)) }),
        },
        {
          ALT: () => ({
            node: 'boolean',
            value: false,
            place: this.placeOf(this.CONSUME(K.FALSE)),
          }),
        },
      ]),
  );

  readonly lambda = this.RULE('lambda', (): Expression => {
    const parameter = this.SUBRULE(this.identifier);
    const arrow = this.CONSUME(Arrow);
    const body = this.SUBRULE(this.expression);
    const place = { ...this.placeFrom(arrow), ...this.startOf(parameter) };
    return { node: 'lambda', parameters: [parameter], body, place };
  });

  private startOf(identifier: Identifier): { start: number; line: number; column: number } {
    return this.ACTION(() => {
      const { start, line, column } = identifier.place;
      return { start, line, column };
    });
  }

  readonly columnName = this.RULE('columnName', (): Expression => {
    const name = this.SUBRULE(this.name);
    return { node: 'column', name, place: name.place };
  });

  /** `*`, `t.*`, with EXCEPT (…). */
  readonly star = this.RULE('star', (): Expression => {
    const first = this.LA(1);
    let qualifier: Name | undefined;
    let except: Name[] = [];
    this.OPTION(() => {
      qualifier = this.SUBRULE(this.name);
      this.CONSUME(Dot);
    });
    this.CONSUME(Star);
    this.OPTION2({
      GATE: () => this.is(2, OpenParen) && !this.startsQuery(3),
      DEF: () => {
        this.CONSUME(K.EXCEPT);
        except = this.SUBRULE(this.names);
      },
    });
    return { node: 'star', qualifier, except, place: this.placeFrom(first) };
  });

  /** `(a, b.c)`. */
  readonly names = this.RULE('names', (): Name[] => {
    const names: Name[] = [];
    this.CONSUME(OpenParen);
    this.AT_LEAST_ONE_SEP({ SEP: Comma, DEF: () => names.push(this.SUBRULE(this.name)) });
    this.CONSUME(CloseParen);
    return names;
  });

  /** `e [AS] name`. */
  readonly aliasedExpression = this.RULE('aliasedExpression', (): Expression => {
    const first = this.LA(1);
    const value = this.SUBRULE(this.expression);
    const name = this.SUBRULE(this.alias);
    return name === undefined
      ? value
      : { node: 'alias', value, name, place: this.placeFrom(first) };
  });

  readonly alias = this.RULE('alias', (): Identifier | undefined => {
    let name: Identifier | undefined;
    this.OPTION({
      GATE: () => this.is(1, K.AS) || this.startsAlias(),
      DEF: () => {
        this.OPTION2(() => this.CONSUME(K.AS));
        name = this.SUBRULE(this.identifier);
      },
    });
    return name;
  });

  // -------------------------------------------------------------- calls with a syntax of their own

  readonly extract = this.RULE('extract', (): Expression => {
    const first = this.CONSUME(K.EXTRACT);
    this.CONSUME(OpenParen);
    const field = this.SUBRULE(this.identifier);
    this.CONSUME(K.FROM);
    const value = this.SUBRULE(this.expression, { ARGS: [binding.comparison] });
    this.CONSUME(CloseParen);
    return { node: 'extract', field, value, place: this.placeFrom(first) };
  });

  readonly trim = this.RULE('trim', (): Expression => {
    const first = this.CONSUME(K.TRIM);
    this.CONSUME(OpenParen);
    let side: 'both' | 'leading' | 'trailing' = 'both';
    let characters: Expression | undefined;
    this.OPTION({
      GATE: () => !this.endsName(2) || this.is(2, K.FROM),
      DEF: () => {
        side = this.OR<'both' | 'leading' | 'trailing'>([
          { ALT: () => this.meaning(this.CONSUME(K.BOTH), 'both') },
          { ALT: () => this.meaning(this.CONSUME(K.LEADING), 'leading') },
          { ALT: () => this.meaning(this.CONSUME(K.TRAILING), 'trailing') },
        ]);
      },
    });
    this.OPTION2({
      GATE: () => !this.is(1, K.FROM),
      DEF: () => {
        characters = this.SUBRULE(this.expression, { ARGS: [binding.comparison] });
      },
    });
    this.CONSUME(K.FROM);
    const value = this.SUBRULE2(this.expression, { ARGS: [binding.comparison] });
    this.CONSUME(CloseParen);
    return { node: 'trim', side, characters, value, place: this.placeFrom(first) };
  });

  /** `SUBSTRING(x FROM 1 FOR 2)` is `substring(x, 1, 2)`. */
  readonly substring = this.RULE('substring', (): Expression => {
    const word = this.OR([
      { ALT: () => this.CONSUME(K.SUBSTRING) },
      { ALT: () => this.CONSUME(K.SUBSTR) },
    ]);
    this.CONSUME(OpenParen);
    const values = [this.SUBRULE(this.expression, { ARGS: [binding.comparison] })];
    this.CONSUME(K.FROM);
    values.push(this.SUBRULE2(this.expression, { ARGS: [binding.comparison] }));
    this.OPTION(() => {
      this.CONSUME(K.FOR);
      values.push(this.SUBRULE3(this.expression, { ARGS: [binding.comparison] }));
    });
    this.CONSUME(CloseParen);
    return this.plainCall(word, values);
  });

  /** `POSITION(a IN b)` is `position(a, b)`. */
  readonly position = this.RULE('position', (): Expression => {
    const word = this.CONSUME(K.POSITION);
    this.CONSUME(OpenParen);
    const part = this.SUBRULE(this.expression, { ARGS: [binding.comparison] });
    this.CONSUME(K.IN);
    const whole = this.SUBRULE2(this.expression, { ARGS: [binding.comparison] });
    this.CONSUME(CloseParen);
    return this.plainCall(word, [part, whole]);
  });

  /** `OVERLAY(a PLACING b FROM 1 FOR 2)` is `overlay(a, b, 1, 2)`. */
  readonly overlay = this.RULE('overlay', (): Expression => {
    const word = this.CONSUME(K.OVERLAY);
    this.CONSUME(OpenParen);
    const values = [this.SUBRULE(this.expression, { ARGS: [binding.comparison] })];
    this.CONSUME(K.PLACING);
    values.push(this.SUBRULE2(this.expression, { ARGS: [binding.comparison] }));
    this.CONSUME(K.FROM);
    values.push(this.SUBRULE3(this.expression, { ARGS: [binding.comparison] }));
    this.OPTION(() => {
      this.CONSUME(K.FOR);
      values.push(this.SUBRULE4(this.expression, { ARGS: [binding.comparison] }));
    });
    this.CONSUME(CloseParen);
    return this.plainCall(word, values);
  });

  private plainCall(word: IToken, values: readonly Expression[]): CallExpression {
    const name = { parts: [this.identifierOf(word)], place: this.placeOf(word) };
    const place = this.placeFrom(word);
    return {
      ...{ node: 'call', name, distinct: false, arguments: values, named: [] },
      ...{ filter: undefined, ignoreNulls: false, window: undefined, place },
    };
  }

  // -------------------------------------------------------------- calls

  readonly call = this.RULE('call', (): CallExpression => {
    const first = this.LA(1);
    const aliases = this.sees(K.STRUCT, OpenParen);
    const name = this.SUBRULE(this.name);
    let distinct = false;
    let ignoreNulls = false;
    let filter: Expression | undefined;
    let window: WindowSpec | undefined;
    let withinGroup: OrderItem[] | undefined;
    const positional: Expression[] = [];
    const named: { name: Identifier; value: Expression }[] = [];
    this.CONSUME(OpenParen);
    this.OPTION({
      GATE: () => !this.endsName(2) || this.is(2, Star),
      DEF: () => {
        distinct = this.SUBRULE(this.setQuantifier);
      },
    });
    this.MANY_SEP({
      SEP: Comma,
      DEF: () =>
        this.OR([
          { GATE: () => this.startsStar(), ALT: () => positional.push(this.SUBRULE(this.star)) },
          {
            GATE: () => this.is(2, FatArrow),
            ALT: () => named.push(this.SUBRULE(this.namedArgument)),
          },
          {
            GATE: () => aliases,
            ALT: () => positional.push(this.SUBRULE(this.aliasedExpression)),
          },
          {
            ALT: () => {
              const value = this.SUBRULE2(this.expression);
              if (named.length > 0) this.refusePositional(value);
              positional.push(value);
            },
          },
        ]),
    });
    this.OPTION2(() => {
      ignoreNulls = this.SUBRULE(this.nullTreatment);
    });
    this.CONSUME(CloseParen);
    this.OPTION3({
      GATE: () => this.is(2, K.GROUP),
      DEF: () => {
        withinGroup = this.SUBRULE(this.withinGroup);
      },
    });
    this.OPTION4({
      GATE: () => this.sees(K.FILTER, OpenParen, K.WHERE),
      DEF: () => {
        filter = this.SUBRULE(this.callFilter);
      },
    });
    this.OPTION5({
      GATE: () => this.is(2, K.NULLS),
      DEF: () => {
        ignoreNulls = this.SUBRULE2(this.nullTreatment);
      },
    });
    this.OPTION6({
      GATE: () => this.is(2, OpenParen) || this.isPlainName(2),
      DEF: () => {
        this.CONSUME(K.OVER);
        window = this.SUBRULE(this.windowSpec);
      },
    });
    return {
      ...{
        node: 'call',
        name,
        distinct,
        arguments: positional,
        named,
        filter,
        ignoreNulls,
        window,
      },
      ...(withinGroup === undefined ? {} : { withinGroup }),
      place: this.placeFrom(first),
    };
  });

  private refusePositional(value: Expression): void {
    this.ACTION(() =>
      this.refuse(
        value.place,
        'a positional argument stands behind a named one',
        'Name this argument as well (name => value), or move it to the front.',
        'UNEXPECTED_POSITIONAL_ARGUMENT',
      ),
    );
  }

  readonly namedArgument = this.RULE('namedArgument', () => {
    const name = this.SUBRULE(this.identifier);
    this.CONSUME(FatArrow);
    return { name, value: this.SUBRULE(this.expression) };
  });

  /** Whether DISTINCT. */
  readonly setQuantifier = this.RULE('setQuantifier', (): boolean => {
    const word = this.OR([
      { ALT: () => this.CONSUME(K.DISTINCT) },
      { ALT: () => this.CONSUME(K.ALL) },
    ]);
    return word.tokenType === K.DISTINCT;
  });

  /** Whether IGNORE NULLS. */
  readonly nullTreatment = this.RULE('nullTreatment', (): boolean => {
    const word = this.OR([
      { ALT: () => this.CONSUME(K.IGNORE) },
      { ALT: () => this.CONSUME(K.RESPECT) },
    ]);
    this.CONSUME(K.NULLS);
    return word.tokenType === K.IGNORE;
  });

  readonly withinGroup = this.RULE('withinGroup', (): OrderItem[] => {
    this.CONSUME(K.WITHIN);
    this.CONSUME(K.GROUP);
    this.CONSUME(OpenParen);
    this.CONSUME(K.ORDER);
    this.CONSUME(K.BY);
    const items = this.SUBRULE(this.orderItems);
    this.CONSUME(CloseParen);
    return items;
  });

  readonly callFilter = this.RULE('callFilter', (): Expression => {
    this.CONSUME(K.FILTER);
    this.CONSUME(OpenParen);
    this.CONSUME(K.WHERE);
    const condition = this.SUBRULE(this.expression);
    this.CONSUME(CloseParen);
    return condition;
  });

  // -------------------------------------------------------------- windows and order

  readonly orderItems = this.RULE('orderItems', (): OrderItem[] => {
    const items: OrderItem[] = [];
    this.AT_LEAST_ONE_SEP({ SEP: Comma, DEF: () => items.push(this.SUBRULE(this.orderItem)) });
    return items;
  });

  readonly orderItem = this.RULE('orderItem', (): OrderItem => {
    const value = this.SUBRULE(this.expression);
    let descending = false;
    let nulls: 'first' | 'last' | undefined;
    this.OPTION(() => {
      descending = this.OR([
        { ALT: () => this.meaning(this.CONSUME(K.ASC), false) },
        { ALT: () => this.meaning(this.CONSUME(K.DESC), true) },
      ]);
    });
    this.OPTION2(() => {
      this.CONSUME(K.NULLS);
      nulls = this.OR2<'first' | 'last'>([
        { ALT: () => this.meaning(this.CONSUME(K.FIRST), 'first') },
        { ALT: () => this.meaning(this.CONSUME(K.LAST), 'last') },
      ]);
    });
    return { value, descending, nulls };
  });

  readonly windowSpec = this.RULE('windowSpec', (): WindowSpec => {
    const first = this.LA(1);
    const reference = (name: Identifier): WindowSpec => ({
      ...{ partitionBy: [], orderBy: [], frame: undefined, reference: name },
      place: this.placeFrom(first),
    });
    return this.OR<WindowSpec>([
      { ALT: () => reference(this.SUBRULE(this.identifier)) },
      {
        GATE: () => this.isWord(2) && this.is(3, CloseParen),
        ALT: () => {
          this.CONSUME(OpenParen);
          const name = this.SUBRULE2(this.identifier);
          this.CONSUME(CloseParen);
          return reference(name);
        },
      },
      {
        ALT: () => {
          this.CONSUME2(OpenParen);
          let partitionBy: Expression[] = [];
          let orderBy: OrderItem[] = [];
          let frame: string | undefined;
          this.OPTION(() => {
            this.OR2([
              { ALT: () => this.CONSUME(K.PARTITION) },
              { ALT: () => this.CONSUME(K.DISTRIBUTE) },
              { ALT: () => this.CONSUME(K.CLUSTER) },
            ]);
            this.CONSUME(K.BY);
            partitionBy = this.SUBRULE(this.expressions);
          });
          this.OPTION2(() => {
            this.OR3([{ ALT: () => this.CONSUME(K.ORDER) }, { ALT: () => this.CONSUME(K.SORT) }]);
            this.CONSUME2(K.BY);
            orderBy = this.SUBRULE(this.orderItems);
          });
          this.OPTION3(() => {
            frame = this.SUBRULE(this.windowFrame);
          });
          this.CONSUME2(CloseParen);
          return { partitionBy, orderBy, frame, place: this.placeFrom(first) };
        },
      },
    ]);
  });

  readonly expressions = this.RULE('expressions', (): Expression[] => {
    const list: Expression[] = [];
    this.AT_LEAST_ONE_SEP({ SEP: Comma, DEF: () => list.push(this.SUBRULE(this.expression)) });
    return list;
  });

  /** Kept as text: no flow carries a frame out. */
  readonly windowFrame = this.RULE('windowFrame', (): string => {
    const first = this.LA(1);
    this.OR([{ ALT: () => this.CONSUME(K.ROWS) }, { ALT: () => this.CONSUME(K.RANGE) }]);
    this.OR2([
      {
        GATE: () => !this.endsName(2),
        ALT: () => {
          this.CONSUME(K.BETWEEN);
          this.SUBRULE(this.frameBound);
          this.CONSUME(K.AND);
          this.SUBRULE2(this.frameBound);
        },
      },
      { ALT: () => this.SUBRULE3(this.frameBound) },
    ]);
    return this.textFrom(first);
  });

  readonly frameBound = this.RULE('frameBound', (): void => {
    this.OR([
      {
        GATE: () => this.is(2, K.ROW),
        ALT: () => {
          this.CONSUME(K.CURRENT);
          this.CONSUME(K.ROW);
        },
      },
      {
        ALT: () => {
          // UNBOUNDED reads as a column, which is as good: the text is all that is kept.
          this.SUBRULE(this.expression, { ARGS: [binding.comparison] });
          this.OR2([
            { ALT: () => this.CONSUME(K.PRECEDING) },
            { ALT: () => this.CONSUME(K.FOLLOWING) },
          ]);
        },
      },
    ]);
  });
}

/** `INTERVAL 1 DAY 2 HOURS`, or with `to` the one literal of `INTERVAL '1 02' DAY TO HOUR`. */
function intervalOf(
  units: readonly IntervalUnit[],
  to: string | undefined,
  place: Place,
): Expression {
  const [range] = units;
  if (to === undefined || range === undefined) return { node: 'interval', units, place };
  const { value, unit: from } = range;
  const amount = value.node === 'unary' ? value.operand : value;
  const text =
    amount.node === 'string' ? amount.value : amount.node === 'number' ? amount.text : '';
  return { node: 'interval_range', negative: value.node === 'unary', text, from, to, place };
}
