import type { Expression, Identifier, OrderItem, WindowSpec } from './ast.ts';
import { LiteralGrammar } from './literal-grammar.ts';
import { binding } from './operator-table.ts';
import { CloseParen, Comma, K, OpenParen } from './tokens.ts';

/** Orders and windows. Invariant: a frame is checked and kept as it was written, since no flow carries one out. */
export abstract class WindowGrammar extends LiteralGrammar {
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
