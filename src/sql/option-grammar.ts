import type { Option, OptionValue } from './ast.ts';
import { ExpressionGrammar } from './expression-grammar.ts';
import { CloseParen, Comma, Dot, Equal, K, Minus, Numeral, OpenParen } from './tokens.ts';

/** Lists of options. Invariant: a value is text, a number or a boolean; an interval is kept as its text. */
export abstract class OptionGrammar extends ExpressionGrammar {
  readonly withOptions = this.RULE('withOptions', (): Option[] => {
    this.CONSUME(K.WITH);
    return this.SUBRULE(this.optionList);
  });

  /** `(key = value, 'other key' = value)`. */
  readonly optionList = this.RULE('optionList', (): Option[] => {
    const options: Option[] = [];
    this.CONSUME(OpenParen);
    this.AT_LEAST_ONE_SEP({ SEP: Comma, DEF: () => options.push(this.SUBRULE(this.optionEntry)) });
    this.CONSUME(CloseParen);
    return options;
  });

  readonly optionEntry = this.RULE('optionEntry', (): Option => {
    const first = this.LA(1);
    const key = this.SUBRULE(this.optionKey);
    this.OPTION(() => this.CONSUME(Equal));
    const value = this.SUBRULE(this.optionValue);
    return { key, value, place: this.placeFrom(first) };
  });

  readonly optionKey = this.RULE('optionKey', (): string =>
    this.OR([
      { ALT: () => this.SUBRULE(this.text) },
      {
        ALT: () => {
          const parts = [this.SUBRULE(this.identifier).text];
          this.MANY(() => {
            this.CONSUME(Dot);
            parts.push(this.SUBRULE2(this.identifier).text);
          });
          return parts.join('.');
        },
      },
    ]),
  );

  readonly optionValue = this.RULE(
    'optionValue',
    (): OptionValue =>
      this.OR<OptionValue>([
        { ALT: () => this.SUBRULE(this.text) },
        {
          ALT: () => {
            let sign = '';
            this.OPTION(() => {
              sign = this.CONSUME(Minus).image;
            });
            const digits = this.CONSUME(Numeral).image.replace(/(?:[lsyfd]|bd)$/i, '');
            return numberOf(sign + digits);
          },
        },
        { ALT: () => this.CONSUME(K.TRUE).tokenType === K.TRUE },
        { ALT: () => this.CONSUME(K.FALSE).tokenType === K.TRUE },
        {
          ALT: () => {
            const first = this.LA(1);
            this.SUBRULE(this.interval);
            return this.textFrom(first);
          },
        },
      ]),
  );
}

/** Whole numbers beyond 2^53 stay text, so that no digit is lost. */
function numberOf(text: string): OptionValue {
  const value = Number(text);
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? text : value;
}
