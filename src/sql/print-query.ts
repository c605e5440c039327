import type {
  GroupBy,
  LateralView,
  Option,
  Query,
  QueryBody,
  Relation,
  SelectItem,
  SelectQuery,
  TableAlias,
  Watermark,
} from './ast.ts';
import { ExpressionPrinter } from './print-expression.ts';
import { literalOfText } from './text-literal.ts';
import { wordToken } from './tokens.ts';
import { wordUse } from './word-use.ts';

/** Queries in their canonical spelling, on one line. */
export abstract class QueryPrinter extends ExpressionPrinter {
  override query(query: Query): string {
    const ctes = query.ctes.map(({ name, columns, query: inner, levels }) => {
      const list = columns.length === 0 ? '' : ` ${this.identifiers(columns)}`;
      const most = levels === undefined ? '' : ` MAX RECURSION LEVEL ${this.expression(levels)}`;
      return `${this.identifier(name)}${list}${most} AS (${this.query(inner)})`;
    });
    const word = query.recursive === undefined ? 'WITH' : 'WITH RECURSIVE';
    return [
      ...(ctes.length === 0 ? [] : [`${word} ${ctes.join(', ')}`]),
      this.#body(query.body, 0),
      ...(query.orderBy.length === 0 ? [] : [`ORDER BY ${this.orderItems(query.orderBy)}`]),
      ...(query.otherOrder === undefined ? [] : [query.otherOrder.text]),
      ...(query.limit === undefined ? [] : [`LIMIT ${this.expression(query.limit)}`]),
      ...(query.offset === undefined ? [] : [`OFFSET ${this.expression(query.offset)}`]),
    ].join(' ');
  }

  /** Sets bind as in the grammar: INTERSECT tighter than UNION and EXCEPT, each from the left. */
  #body(body: QueryBody, least: number): string {
    switch (body.node) {
      case 'select':
        return this.#select(body);
      case 'values':
        return this.#values(body);
      case 'table':
        return `TABLE ${this.name(body.name)}`;
      case 'parenthesized':
        return `(${this.query(body.query)})`;
      case 'set': {
        const own = body.operator === 'intersect' ? 1 : 0;
        const words = [body.operator.toUpperCase()];
        if (body.all) words.push('ALL');
        if (body.byName) words.push('BY NAME');
        const left = this.#body(body.left, own);
        const right = this.#body(body.right, own + 1);
        const text = `${left} ${words.join(' ')} ${right}`;
        return own < least ? `(${text})` : text;
      }
    }
  }

  #select(select: SelectQuery): string {
    const items = select.items.map((item) => this.#item(item)).join(', ');
    const windows = select.windows.map(
      ({ name, spec }) => `${this.identifier(name)} AS ${this.window(spec)}`,
    );
    const from = select.from.map((relation) => this.#relation(relation)).join(', ');
    const [first] = select.items;
    if (first?.value.node === 'star' && first.value.replace !== undefined) {
      // Only `|> SET` makes such a select, which has nothing else.
      const changes = first.value.replace.map(
        ({ name, value }) => `${this.identifier(name)} = ${this.expression(value)}`,
      );
      const where = select.where === undefined ? '' : ` |> WHERE ${this.expression(select.where)}`;
      return `FROM ${from}${where} |> SET ${changes.join(', ')}`;
    }
    return [
      `SELECT ${select.distinct ? 'DISTINCT ' : ''}${items}`,
      ...(from === '' ? [] : [`FROM ${from}`]),
      ...select.lateralViews.map((view) => this.#lateralView(view)),
      ...(select.where === undefined ? [] : [`WHERE ${this.expression(select.where)}`]),
      ...(select.groupBy === undefined ? [] : [this.#groupBy(select.groupBy)]),
      ...(select.having === undefined ? [] : [`HAVING ${this.expression(select.having)}`]),
      ...(select.qualify === undefined ? [] : [`QUALIFY ${this.expression(select.qualify)}`]),
      ...(windows.length === 0 ? [] : [`WINDOW ${windows.join(', ')}`]),
    ].join(' ');
  }

  #item({ value, aliases }: SelectItem): string {
    const [only, ...others] = aliases;
    if (only === undefined) return this.expression(value);
    const names = others.length === 0 ? this.identifier(only) : this.identifiers(aliases);
    return `${this.expression(value)} AS ${names}`;
  }

  #groupBy(groupBy: GroupBy): string {
    if (groupBy.all) return 'GROUP BY ALL';
    const keys = groupBy.keys === undefined ? '' : `${this.expressions(groupBy.keys)} `;
    return `GROUP BY ${keys}${this.expressions(groupBy.items)}`;
  }

  #values({ rows, alias }: Extract<QueryBody, { node: 'values' }>): string {
    const texts = rows.map((row) => {
      // `(values(1))` would be a query in parentheses; a call alone needs none.
      const isCall = row.length === 1 && row[0]?.node === 'call';
      return isCall ? this.expressions(row) : `(${this.expressions(row)})`;
    });
    return `VALUES ${texts.join(', ')}${this.#alias(alias)}`;
  }

  #lateralView({ outer, call, table, columns }: LateralView): string {
    return [
      `LATERAL VIEW ${outer ? 'OUTER ' : ''}${this.call(call)}`,
      ...(table === undefined ? [] : [this.identifier(table)]),
      ...(columns.length === 0
        ? []
        : [`AS ${columns.map((one) => this.identifier(one)).join(', ')}`]),
    ].join(' ');
  }

  // -------------------------------------------------------------- relations

  #relation(relation: Relation): string {
    switch (relation.node) {
      case 'named': {
        const name = this.name(relation.name);
        const options =
          relation.options.length === 0 ? '' : ` WITH ${this.options(relation.options)}`;
        return `${relation.stream ? `STREAM(${name})` : name}${options}${this.#tail(relation)}`;
      }
      case 'function': {
        const call = this.call(relation.call, wordUse.mostlyClause);
        return `${relation.stream ? `STREAM(${call})` : call}${this.#tail(relation)}`;
      }
      case 'subquery':
        return `${relation.stream ? 'STREAM ' : ''}(${this.query(relation.query)})${this.#tail(relation)}`;
      case 'inline':
        return this.#values(relation.values);
      case 'join':
        return this.#join(relation);
      case 'unread':
        return '(VALUES ())';
      case 'foreign': {
        const inner = this.#relation(relation.relation);
        const { text } = relation.clause;
        return `${text === '' ? `(${inner})` : `${inner} ${text}`}${this.#tail(relation)}`;
      }
    }
  }

  #join(join: Extract<Relation, { node: 'join' }>): string {
    const words = [
      ...(join.natural ? ['NATURAL'] : []),
      joinWords[join.kind],
      ...(join.lateral ? ['LATERAL'] : []),
    ].join(' ');
    const right = this.#relation(join.right);
    const condition = [
      ...(join.on === undefined ? [] : [` ON ${this.expression(join.on)}`]),
      ...(join.using.length === 0 ? [] : [` USING ${this.identifiers(join.using)}`]),
    ].join('');
    const enclosed = join.right.node === 'join' || isPivoted(join.right) ? `(${right})` : right;
    return `${this.#relation(join.left)} ${words} ${enclosed}${condition}`;
  }

  #tail({
    watermark,
    alias,
  }: {
    readonly watermark: Watermark | undefined;
    readonly alias: TableAlias | undefined;
  }): string {
    return (watermark === undefined ? '' : ` ${this.#watermark(watermark)}`) + this.#alias(alias);
  }

  #watermark({ column, delay }: Watermark): string {
    const [value, name] =
      column.node === 'alias'
        ? [column.value, ` AS ${this.identifier(column.name)}`]
        : [column, ''];
    const text = this.expression(value);
    // A clause word in front would make WATERMARK the alias of the table.
    const isClause = wordUse.neverAlias.has(wordToken(/^\w*/.exec(text)?.[0] ?? ''));
    return `WATERMARK ${isClause ? `(${text})` : text}${name} DELAY OF ${this.expression(delay)}`;
  }

  #alias(alias: TableAlias | undefined): string {
    if (alias === undefined) return '';
    const columns = alias.columns.length === 0 ? '' : this.identifiers(alias.columns);
    return ` AS ${this.identifier(alias.name)}${columns}`;
  }

  /** A single relation, such as the source of AUTO CDC. */
  relation(relation: Relation): string {
    return this.#relation(relation);
  }

  options(options: readonly Option[]): string {
    const entries = options.map(({ key, value }) => {
      const text = typeof value === 'string' ? literalOfText(value) : String(value).toUpperCase();
      return `${literalOfText(key)} = ${text}`;
    });
    return `(${entries.join(', ')})`;
  }
}

/** PIVOT applies to all that stands before it, so a pivoted right side of a join needs parentheses. */
function isPivoted(relation: Relation): boolean {
  return relation.node === 'foreign' && /^(?:UN)?PIVOT$/.test(relation.clause.clause);
}

const joinWords = {
  inner: 'JOIN',
  cross: 'CROSS JOIN',
  left: 'LEFT JOIN',
  right: 'RIGHT JOIN',
  full: 'FULL JOIN',
  left_semi: 'LEFT SEMI JOIN',
  left_anti: 'LEFT ANTI JOIN',
} as const;
