import type { IToken, TokenType } from 'chevrotain';
import type { Place } from '../base/place.ts';
import type { Expression, IntervalUnit } from './ast.ts';
import { textOfLiteral } from './text-literal.ts';
import { K, Minus, Numeral, Plus, Text, Unit, Word } from './tokens.ts';
import { TypeGrammar } from './type-grammar.ts';
import { wordUse } from './word-use.ts';

/** Literals. Invariant: a literal keeps the digits and the text that were written; what they are worth is decided later. */
export abstract class LiteralGrammar extends TypeGrammar {
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
          'UNSUPPORTED_TYPED_LITERAL',
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
          const text = textOfLiteral(this.CONSUME(Text).image);
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
      // Units on both sides of TO have no plural.
      GATE: () => this.isOneOf(0, rangeUnits) && this.isOneOf(2, rangeUnits),
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

  readonly plainNumeral = this.RULE('plainNumeral', (): Expression => {
    const amount = this.SUBRULE(this.numeral);
    this.ACTION(() => {
      if (amount.node !== 'number' || /^[\d.]+$/.test(amount.text + amount.suffix)) return;
      const hint = "Write 1 or 1.5 there, or a text such as INTERVAL '1' DAY.";
      this.refuse(amount.place, 'the number of an interval has no exponent and no suffix', hint);
    });
    return amount;
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
      { ALT: () => this.SUBRULE(this.plainNumeral) },
      { ALT: () => this.SUBRULE(this.string) },
    ]);
    const amountPlace = this.placeFrom(first);
    const value: Expression = negative
      ? { node: 'unary', operator: '-', operand: amount, place: amountPlace }
      : amount;
    const unit = this.CONSUME(Unit).image.toLowerCase().replace(/s$/, '');
    return { value, unit, place: this.placeFrom(first) };
  });
}

const rangeUnits: ReadonlySet<TokenType> = new Set([
  ...[K.YEAR, K.MONTH, K.DAY, K.HOUR, K.MINUTE, K.SECOND],
]);

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
