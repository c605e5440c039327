import type { IToken, ParserMethod, TokenType } from 'chevrotain';
import type { Place } from '../base/place.ts';
import type { BinaryOperator, Expression, Query, TypeNode } from './ast.ts';
import { CallGrammar } from './call-grammar.ts';
import { binaryBinding, binding, operatorSpelled } from './operator-table.ts';
import {
  Arrow,
  Bang,
  CloseBracket,
  CloseParen,
  Colon,
  Comma,
  Dot,
  DoubleColon,
  Greater,
  K,
  Minus,
  Numeral,
  OpenBracket,
  OpenParen,
  Operator,
  Plus,
  Question,
  QuotedWord,
  Star,
  Text,
  Tilde,
  Word,
} from './tokens.ts';

/** Chains of AND or OR longer than this become balanced trees, so that no one who walks them runs deep. */
const chainMax = 100;

/**
 * Expressions, by precedence climbing: `expression(n)` reads operators that bind at least as tightly as
 * `n`. Invariant: the tree has the shape that Spark's grammar gives.
 */
export abstract class ExpressionGrammar extends CallGrammar {
  abstract override readonly query: ParserMethod<[], Query>;

  override readonly expression = this.RULE('expression', (least = 0): Expression => {
    this.ACTION(() => this.descend());
    const first = this.LA(1);
    const operands = new Operands(
      this.OR<Expression>([
        {
          GATE: () => least <= binding.not && !this.endsName(2),
          ALT: () => this.SUBRULE(this.negation),
        },
        { GATE: () => !this.sees(Minus, Numeral), ALT: () => this.SUBRULE(this.signed) },
        { ALT: () => this.SUBRULE(this.primary) },
      ]),
    );
    let most: number = binding.postfix;
    this.MANY({
      GATE: () => {
        const next = this.nextBinding();
        return next >= least && next <= most;
      },
      DEF: () =>
        this.OR2([
          {
            ALT: () => {
              const operator = this.SUBRULE(this.binaryOperator);
              const right = this.SUBRULE(this.expression, {
                ARGS: [(binaryBinding[operator] ?? 0) + 1],
              });
              operands.add(operator, right, this.placeFrom(first));
            },
          },
          {
            ALT: () => {
              const value = operands.settle();
              const predicate = this.SUBRULE(this.predicate, { ARGS: [value] });
              operands.replace({ ...predicate, place: this.placeFrom(first) });
              // Predicates do not chain: what follows is AND or OR.
              most = binding.and;
            },
          },
        ]),
    });
    this.ACTION(() => this.ascend());
    return operands.settle();
  });

  readonly negation = this.RULE('negation', (): Expression => {
    const first = this.LA(1);
    this.OR([{ ALT: () => this.CONSUME(K.NOT) }, { ALT: () => this.CONSUME(Bang) }]);
    const operand = this.SUBRULE(this.expression, { ARGS: [binding.not] });
    return { node: 'unary', operator: 'not', operand, place: this.placeFrom(first) };
  });

  readonly signed = this.RULE('signed', (): Expression => {
    const sign = this.OR([
      { ALT: () => this.CONSUME(Minus) },
      { ALT: () => this.CONSUME(Plus) },
      { ALT: () => this.CONSUME(Tilde) },
    ]);
    const operand = this.SUBRULE(this.expression, { ARGS: [binding.sign] });
    const operator = sign.image as '-' | '+' | '~';
    return { node: 'unary', operator, operand, place: this.placeFrom(sign) };
  });

  readonly binaryOperator = this.RULE('binaryOperator', (): BinaryOperator => {
    let spelling = this.shiftAhead();
    const rest = spelling.length - 1;
    const first = this.CONSUME(Operator);
    this.ACTION(() => {
      if (rest > 0) this.skip(rest);
      else spelling = first.image;
    });
    return operatorSpelled(spelling) ?? '=';
  });

  /** `>>` and `>>>` are adjacent tokens; the empty text when none stands in front. */
  private shiftAhead(): string {
    let end = 1;
    while (
      end <= 3 &&
      this.is(end, Greater) &&
      (end === 1 || this.LA(end).startOffset === this.LA(end - 1).startOffset + 1)
    ) {
      end += 1;
    }
    return end > 2 ? '>'.repeat(end - 1) : '';
  }

  /** How tightly the operator or predicate in front binds; 0 when none stands there. */
  private nextBinding(): number {
    const { tokenType, image } = this.LA(1);
    if (tokenType === K.IS || this.isOneOf(1, predicateWords)) return binding.predicate;
    if (tokenType === K.NOT || tokenType === Bang) {
      return this.isOneOf(2, predicateWords) ? binding.predicate : 0;
    }
    if (!(tokenType.CATEGORIES?.includes(Operator) ?? false)) return 0;
    const shift = tokenType === Greater ? this.shiftAhead() : '';
    const operator = operatorSpelled(shift === '' ? image : shift);
    return operator === undefined ? 0 : binaryBinding[operator];
  }

  // -------------------------------------------------------------- predicates

  readonly predicate = this.RULE('predicate', (value: Expression): Expression => {
    let negated = false;
    const place = this.placeOf(this.LA(1));
    this.OPTION(() => {
      this.SUBRULE(this.not);
      negated = true;
    });
    return this.OR2<Expression>([
      {
        ALT: () => {
          this.CONSUME(K.BETWEEN);
          const low = this.SUBRULE(this.expression, { ARGS: [binding.comparison] });
          this.CONSUME(K.AND);
          const high = this.SUBRULE2(this.expression, { ARGS: [binding.comparison] });
          return { node: 'between', value, low, high, negated, place };
        },
      },
      { ALT: () => this.SUBRULE(this.membership, { ARGS: [value, negated] }) },
      { ALT: () => this.SUBRULE(this.likeness, { ARGS: [value, negated] }) },
      { ALT: () => this.SUBRULE(this.test, { ARGS: [value] }) },
    ]);
  });

  readonly not = this.RULE('not', (): void => {
    this.OR([{ ALT: () => this.CONSUME(K.NOT) }, { ALT: () => this.CONSUME(Bang) }]);
  });

  readonly membership = this.RULE(
    'membership',
    (value: Expression, negated: boolean): Expression => {
      const place = this.placeOf(this.CONSUME(K.IN));
      this.CONSUME(OpenParen);
      const found = this.OR<Expression>([
        {
          GATE: () => this.startsQuery(1),
          ALT: () => {
            const query = this.SUBRULE(this.query);
            return { node: 'in_query', value, query, negated, place };
          },
        },
        {
          ALT: () => {
            const list: Expression[] = [];
            this.AT_LEAST_ONE_SEP({
              SEP: Comma,
              DEF: () => list.push(this.SUBRULE(this.expression)),
            });
            return { node: 'in', value, list, negated, place };
          },
        },
      ]);
      this.CONSUME(CloseParen);
      return found;
    },
  );

  readonly likeness = this.RULE('likeness', (value: Expression, negated: boolean): Expression => {
    const word = this.OR([
      { ALT: () => this.CONSUME(K.LIKE) },
      { ALT: () => this.CONSUME(K.ILIKE) },
      { ALT: () => this.CONSUME(K.RLIKE) },
      { ALT: () => this.CONSUME(K.REGEXP) },
    ]);
    const operator = likeOperators.get(word.tokenType) ?? 'rlike';
    const patterns: Expression[] = [];
    let quantifier: 'any' | 'all' | undefined;
    let escapeText: Expression | undefined;
    this.OR2([
      {
        GATE: () => operator !== 'rlike' && this.is(2, OpenParen),
        ALT: () => {
          quantifier = this.SUBRULE(this.quantifier);
          this.CONSUME(OpenParen);
          this.MANY_SEP({
            SEP: Comma,
            DEF: () => patterns.push(this.SUBRULE(this.expression)),
          });
          this.CONSUME(CloseParen);
        },
      },
      {
        ALT: () => {
          patterns.push(this.SUBRULE2(this.expression, { ARGS: [binding.comparison] }));
          this.OPTION({
            GATE: () => operator !== 'rlike',
            DEF: () => {
              this.CONSUME(K.ESCAPE);
              escapeText = this.SUBRULE(this.string);
            },
          });
        },
      },
    ]);
    const place = this.placeOf(word);
    return {
      ...{
        node: 'like',
        operator,
        value,
        patterns,
        quantifier,
        escape: escapeText,
        negated,
        place,
      },
    };
  });

  readonly quantifier = this.RULE('quantifier', (): 'any' | 'all' =>
    this.OR<'any' | 'all'>([
      { ALT: () => this.meaning(this.CONSUME(K.ANY), 'any') },
      { ALT: () => this.meaning(this.CONSUME(K.SOME), 'any') },
      { ALT: () => this.meaning(this.CONSUME(K.ALL), 'all') },
    ]),
  );

  /** `IS [NOT] NULL | TRUE | FALSE | UNKNOWN | DISTINCT FROM e`. */
  readonly test = this.RULE('test', (value: Expression): Expression => {
    const place = this.placeOf(this.CONSUME(K.IS));
    let negated = false;
    this.OPTION(() => {
      this.SUBRULE(this.not);
      negated = true;
    });
    const whether = (test: 'null' | 'true' | 'false' | 'unknown'): Expression => ({
      node: 'is',
      value,
      test,
      negated,
      place,
    });
    return this.OR<Expression>([
      { ALT: () => this.meaning(this.CONSUME(K.NULL), whether('null')) },
      { ALT: () => this.meaning(this.CONSUME(K.TRUE), whether('true')) },
      { ALT: () => this.meaning(this.CONSUME(K.FALSE), whether('false')) },
      { ALT: () => this.meaning(this.CONSUME(K.UNKNOWN), whether('unknown')) },
      {
        ALT: () => {
          this.CONSUME(K.DISTINCT);
          this.CONSUME(K.FROM);
          const right = this.SUBRULE(this.expression, { ARGS: [binding.comparison] });
          return { node: 'is_distinct', left: value, right, negated, place };
        },
      },
    ]);
  });

  // -------------------------------------------------------------- operands

  readonly primary = this.RULE('primary', (): Expression => {
    const first = this.LA(1);
    let value = this.OR<Expression>([
      { ALT: () => this.SUBRULE(this.numeral) },
      { ALT: () => this.SUBRULE(this.negativeNumeral) },
      { ALT: () => this.SUBRULE(this.string) },
      { ALT: () => this.SUBRULE(this.parenthesized) },
      { ALT: () => this.SUBRULE(this.marker) },
      { ALT: () => this.SUBRULE(this.wordExpression) },
    ]);
    this.MANY({
      GATE: () => this.continuesOperand(),
      DEF: () => {
        const next = this.OR2<Expression>([
          { ALT: () => this.SUBRULE(this.fieldOf, { ARGS: [value] }) },
          { ALT: () => this.SUBRULE(this.elementOf, { ARGS: [value] }) },
          { ALT: () => this.SUBRULE(this.castOf, { ARGS: [value] }) },
          { ALT: () => this.SUBRULE(this.pathOf, { ARGS: [value] }) },
          { ALT: () => this.SUBRULE(this.collationOf, { ARGS: [value] }) },
        ]);
        value = { ...next, place: this.placeFrom(first) };
      },
    });
    return value;
  });

  private continuesOperand(): boolean {
    if (this.is(1, Dot)) return this.isWord(2);
    if (this.is(1, Colon)) return this.isWord(2) || this.is(2, OpenBracket);
    return this.is(1, OpenBracket, DoubleColon) || (this.is(1, K.COLLATE) && this.isWord(2));
  }

  readonly fieldOf = this.RULE('fieldOf', (value: Expression): Expression => {
    const place = this.placeOf(this.CONSUME(Dot));
    return { node: 'field', value, field: this.SUBRULE(this.identifier), place };
  });

  readonly elementOf = this.RULE('elementOf', (value: Expression): Expression => {
    const place = this.placeOf(this.CONSUME(OpenBracket));
    const index = this.SUBRULE(this.expression, { ARGS: [binding.comparison] });
    this.CONSUME(CloseBracket);
    return { node: 'subscript', value, index, place };
  });

  readonly castOf = this.RULE('castOf', (value: Expression): Expression => {
    const place = this.placeOf(this.CONSUME(DoubleColon));
    return { node: 'cast', value, type: this.SUBRULE(this.type), isTry: false, place };
  });

  readonly collationOf = this.RULE('collationOf', (value: Expression): Expression => {
    const place = this.placeOf(this.CONSUME(K.COLLATE));
    return { node: 'collate', value, collation: this.SUBRULE(this.name), place };
  });

  /** The tokens behind the colon, without the space between them. */
  readonly pathOf = this.RULE('pathOf', (value: Expression): Expression => {
    const place = this.placeOf(this.CONSUME(Colon));
    const images: string[] = [];
    this.OR([
      { ALT: () => images.push(this.pathWord(this.CONSUME(Word))) },
      { ALT: () => images.push(this.SUBRULE(this.pathStep)) },
    ]);
    this.MANY({
      GATE: () => this.is(1, OpenBracket) || this.isWord(2),
      DEF: () =>
        this.OR2([
          {
            ALT: () => {
              this.CONSUME(Dot);
              images.push('.', this.pathWord(this.CONSUME2(Word)));
            },
          },
          { ALT: () => images.push(this.SUBRULE2(this.pathStep)) },
        ]),
    });
    return { node: 'path', value, path: images.join(''), place };
  });

  /** As in Spark a path in one pair of backticks is a path still. */
  private pathWord(token: IToken): string {
    const inner = token.image.slice(1, -1);
    return token.tokenType === QuotedWord && /^[\p{L}_]+(?:\.[\p{L}_]+)+$/u.test(inner)
      ? inner
      : token.image;
  }

  readonly pathStep = this.RULE('pathStep', (): string => {
    this.CONSUME(OpenBracket);
    const step = this.OR([
      { ALT: () => this.CONSUME(Numeral) },
      { ALT: () => this.CONSUME(Text) },
      { ALT: () => this.CONSUME(Word) },
      { ALT: () => this.CONSUME(Star) },
    ]);
    this.CONSUME(CloseBracket);
    return `[${step.image}]`;
  });

  readonly marker = this.RULE('marker', (): Expression => {
    const token = this.OR([
      { ALT: () => this.CONSUME(Question) },
      { ALT: () => this.CONSUME(Colon) },
    ]);
    return this.ACTION(() =>
      this.refuse(
        this.placeOf(token),
        'a parameter marker stands where a value is needed',
        'A pipeline has no parameters: write the value itself.',
        'UNBOUND_SQL_PARAMETER',
      ),
    );
  });

  /** A subquery, the parameters of a lambda, a row, or an expression in parentheses. */
  readonly parenthesized = this.RULE(
    'parenthesized',
    (): Expression =>
      this.OR<Expression>([
        {
          GATE: () => this.startsQuery(2),
          ALT: () => {
            const first = this.CONSUME(OpenParen);
            const query = this.SUBRULE(this.query);
            this.CONSUME(CloseParen);
            return { node: 'scalar_query', query, place: this.placeFrom(first) };
          },
        },
        {
          GATE: () => this.is(this.behindParens(1), Arrow),
          ALT: () => {
            const first = this.LA(1);
            const parameters = this.SUBRULE(this.someIdentifiers);
            this.CONSUME(Arrow);
            const body = this.SUBRULE(this.expression);
            return { node: 'lambda', parameters, body, place: this.placeFrom(first) };
          },
        },
        {
          ALT: () => {
            const first = this.CONSUME2(OpenParen);
            const items: Expression[] = [];
            this.AT_LEAST_ONE_SEP({
              SEP: Comma,
              DEF: () => items.push(this.SUBRULE(this.aliasedExpression)),
            });
            this.CONSUME2(CloseParen);
            const [only] = items;
            if (only !== undefined && items.length === 1) {
              if (only.node === 'alias') {
                this.refuse(only.name.place, "found an alias inside parentheses, expected ')'");
              }
              return only;
            }
            return { node: 'tuple', items, place: this.placeFrom(first) };
          },
        },
      ]),
  );

  /** CASE, CAST and EXISTS; everything else that begins with a word is in the call grammar. */
  override readonly caseExpression = this.RULE('caseExpression', (): Expression => {
    const first = this.CONSUME(K.CASE);
    let operand: Expression | undefined;
    let otherwise: Expression | undefined;
    const branches: { when: Expression; then: Expression }[] = [];
    this.OPTION({
      GATE: () => !this.is(1, K.WHEN),
      DEF: () => {
        operand = this.SUBRULE(this.expression);
      },
    });
    this.AT_LEAST_ONE(() => {
      this.CONSUME(K.WHEN);
      const when = this.SUBRULE2(this.expression);
      this.CONSUME(K.THEN);
      const result = this.SUBRULE3(this.expression);
      // biome-ignore lint/suspicious/noThenProperty: the tree speaks SQL, and nobody awaits it.
      branches.push({ when, then: result });
    });
    this.OPTION2(() => {
      this.CONSUME(K.ELSE);
      otherwise = this.SUBRULE4(this.expression);
    });
    this.CONSUME(K.END);
    return { node: 'case', operand, branches, otherwise, place: this.placeFrom(first) };
  });

  override readonly castCall = this.RULE('castCall', (): Expression => {
    const first = this.LA(1);
    const isTry = this.OR([
      { ALT: () => this.meaning(this.CONSUME(K.CAST), false) },
      { ALT: () => this.meaning(this.CONSUME(K.TRY_CAST), true) },
    ]);
    this.CONSUME(OpenParen);
    const value = this.SUBRULE(this.expression);
    this.CONSUME(K.AS);
    const type: TypeNode = this.SUBRULE(this.type);
    this.CONSUME(CloseParen);
    return { node: 'cast', value, type, isTry, place: this.placeFrom(first) };
  });

  override readonly existsCall = this.RULE('existsCall', (): Expression => {
    const first = this.CONSUME(K.EXISTS);
    this.CONSUME(OpenParen);
    const query = this.SUBRULE(this.query);
    this.CONSUME(CloseParen);
    return { node: 'exists', query, place: this.placeFrom(first) };
  });
}

/** The left side so far. A chain of one connective is kept as a list until something else follows. */
class Operands {
  #left: Expression;
  #chain: { operator: 'and' | 'or'; operands: Expression[] } | undefined;

  constructor(first: Expression) {
    this.#left = first;
  }

  add(operator: BinaryOperator, right: Expression, place: Place): void {
    if (operator !== 'and' && operator !== 'or') {
      this.#left = { node: 'binary', operator, left: this.settle(), right, place };
    } else if (this.#chain?.operator === operator) {
      this.#chain.operands.push(right);
    } else {
      this.#chain = { operator, operands: [this.settle(), right] };
    }
  }

  replace(value: Expression): void {
    this.#left = value;
  }

  settle(): Expression {
    const chain = this.#chain;
    if (chain === undefined) return this.#left;
    this.#chain = undefined;
    const { operator, operands } = chain;
    const fold = (from: number, to: number): Expression => {
      const first = operands[from] ?? this.#left;
      if (to - from === 1) return first;
      const middle = operands.length > chainMax ? (from + to) >> 1 : to - 1;
      const left = fold(from, middle);
      const right = fold(middle, to);
      const place = { ...left.place, end: right.place.end };
      return { node: 'binary', operator, left, right, place };
    };
    this.#left = fold(0, operands.length);
    return this.#left;
  }
}

const predicateWords: ReadonlySet<TokenType> = new Set([
  K.BETWEEN,
  K.IN,
  K.LIKE,
  K.ILIKE,
  K.RLIKE,
  K.REGEXP,
]);

const likeOperators: ReadonlyMap<TokenType, 'like' | 'ilike' | 'rlike'> = new Map([
  [K.LIKE, 'like'],
  [K.ILIKE, 'ilike'],
  [K.RLIKE, 'rlike'],
  [K.REGEXP, 'rlike'],
]);
