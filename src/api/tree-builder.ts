import { type Fault, FaultError, type Place } from '../base/place.ts';
import type {
  ColumnDefinition,
  Expression,
  Identifier,
  Name,
  Query,
  TypeNode,
} from '../sql/ast.ts';
import { parseExpression, parseQuery, parseType } from '../sql/parse.ts';

/** A text of SQL that stood in a program, under the name by which places speak of it. */
export type SqlPiece = {
  readonly file: string;
  readonly text: string;
  readonly within: Place;
  /** A name that stands before the text in the program; undefined: nothing is known of what does. */
  readonly behind?: string | undefined;
  /** Those parts of the text that stand in the program, where other parts were put in. */
  readonly parts?: readonly SqlPart[] | undefined;
};

/** A part of a text, with its offset there. */
export type SqlPart = { readonly text: string; readonly at: number };

type Surroundings = Pick<SqlPiece, 'behind' | 'parts'>;

/**
 * What the nodes of one statement are made with. Invariant: a text that cannot be read becomes a fault with its place,
 * and a node that stands in for it; nothing is thrown, so that all faults of a pipeline are told at once.
 */
export class TreeBuilder {
  readonly place: Place;
  readonly pieces: SqlPiece[] = [];
  readonly faults: Fault[] = [];
  readonly #what: string;

  constructor(place: Place, what: string) {
    this.place = place;
    this.#what = what;
  }

  identifier(text: string): Identifier {
    return { text, quoted: true, place: this.place };
  }

  identifiers(texts: readonly string[]): readonly Identifier[] {
    return texts.map((text) => this.identifier(text));
  }

  /** `a.b.c` has three parts, as in SQL. */
  name(text: string): Name {
    if (typeof text !== 'string') {
      this.refuse(
        'OPTION_VALUE',
        `the name of ${this.#what} is no text`,
        "Write it in quotes: 'id'.",
      );
      return { parts: [], place: this.place };
    }
    const parts = text.split('.').map((part) => this.identifier(part));
    return { parts: parts.length > 3 ? [this.identifier(text)] : parts, place: this.place };
  }

  column(...texts: readonly string[]): Expression {
    const parts = texts.map((text) => this.identifier(text));
    return { node: 'column', name: { parts, place: this.place }, place: this.place };
  }

  expression(text: string, part: string, parts?: readonly SqlPart[]): Expression {
    const read = (file: string) => parseExpression(text, file);
    // A name without parts: what depends on it says no more.
    return this.#read(text, part, read, { parts }) ?? this.column();
  }

  query(text: string, part: string, parts?: readonly SqlPart[]): Query {
    const read = (file: string) => parseQuery(text, file);
    return this.#read(text, part, read, { parts }) ?? this.unread();
  }

  /** The type of a column, or of anything else. */
  type(text: string, column?: string): TypeNode {
    const part = column === undefined ? 'type' : `type of column "${column}"`;
    const node = this.#read(text, part, (file) => parseType(text, file), { behind: column });
    return node ?? { node: 'simple', name: 'string', parameters: [], place: this.place };
  }

  columns(
    declared: Readonly<
      Record<string, string | { type: string; notNull?: boolean; comment?: string }>
    >,
  ): readonly ColumnDefinition[] {
    return Object.entries(declared).map(([name, given]) => {
      const { type, notNull, comment } = typeof given === 'string' ? { type: given } : given;
      return {
        name: this.identifier(name),
        type: this.type(type, name),
        notNull: notNull === true,
        comment,
        defaultValue: undefined,
        place: this.place,
      };
    });
  }

  /** `SELECT * FROM` the one relation, and nothing else. */
  select(parts: Partial<Extract<Query['body'], { node: 'select' }>>): Query {
    const { place } = this;
    const star: Expression = { node: 'star', qualifier: undefined, except: [], place };
    return this.queryOf({
      node: 'select',
      distinct: false,
      items: [{ value: star, aliases: [], place }],
      from: [],
      lateralViews: [],
      where: undefined,
      groupBy: undefined,
      having: undefined,
      qualify: undefined,
      windows: [],
      place,
      ...parts,
    });
  }

  queryOf(body: Query['body']): Query {
    return {
      ctes: [],
      body,
      orderBy: [],
      otherOrder: undefined,
      orderPlace: undefined,
      limit: undefined,
      offset: undefined,
      place: this.place,
    };
  }

  /** Where a query is that could not be read: what depends on it says no more. */
  unread(): Query {
    return this.select({
      from: [{ node: 'unread', watermark: undefined, place: this.place }],
    });
  }

  refuse(code: string, message: string, hint: string, place: Place = this.place): void {
    this.faults.push({ severity: 'error', code, message, hint, place });
  }

  #read<Node>(
    text: string,
    part: string,
    read: (file: string) => Node,
    around: Surroundings,
  ): Node | undefined {
    const base = `${this.place.file}:${this.place.line} ${part} of ${this.#what}`;
    const count = this.pieces.filter(({ file }) => file.startsWith(base)).length;
    const file = count === 0 ? base : `${base} (${count + 1})`;
    this.pieces.push({ file, text, within: this.place, ...around });
    try {
      return read(file);
    } catch (error) {
      if (!(error instanceof FaultError)) throw error;
      this.faults.push(error.fault);
      return undefined;
    }
  }
}
