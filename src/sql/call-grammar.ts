import type { IToken, ParserMethod } from 'chevrotain';
import type {
  CallExpression,
  Expression,
  Identifier,
  Name,
  OrderItem,
  Query,
  WindowSpec,
} from './ast.ts';
import { binding } from './operator-table.ts';
import { Arrow, CloseParen, Comma, Dot, FatArrow, K, OpenParen, Star, Text } from './tokens.ts';
import { WindowGrammar } from './window-grammar.ts';
import { wordUse } from './word-use.ts';

/**
 * Columns and calls: every operand that begins with a word. Invariant: a keyword
 * is read as a name exactly where Spark would, apart from clause words that begin nothing but a mistake.
 */
export abstract class CallGrammar extends WindowGrammar {
  abstract readonly query: ParserMethod<[], Query>;
  abstract readonly caseExpression: ParserMethod<[], Expression>;
  abstract readonly castCall: ParserMethod<[], Expression>;
  abstract readonly existsCall: ParserMethod<[], Expression>;

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
      { GATE: () => opens() && this.hasInside(K.FROM), ALT: () => this.SUBRULE(this.extract) },
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
      GATE: () => this.is(2, OpenParen) || this.startsAlias(2),
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
}
