import type { TokenType } from 'chevrotain';
import type {
  CallExpression,
  ColumnDefinition,
  Expression,
  Identifier,
  Name,
  OrderItem,
  Query,
  TypeNode,
  WindowSpec,
} from './ast.ts';
import { binaryBinding, binding } from './operator-table.ts';
import { literalOfText } from './text-literal.ts';
import { wordToken } from './tokens.ts';
import { wordUse } from './word-use.ts';

/**
 * Expressions and types in their canonical spelling. Invariant: what is printed is read back as the same
 * tree; parentheses stand only where the tree needs them.
 */
export abstract class ExpressionPrinter {
  abstract query(query: Query): string;

  // -------------------------------------------------------------- names and lists

  /** A name that begins an expression: of the clause words, only these need quotes there. */
  #nameAhead(name: Name, unclear: ReadonlySet<TokenType>): string {
    const [first, ...rest] = name.parts;
    if (first === undefined) return '';
    const type = wordToken(first.text);
    const isClear = wordUse.mostlyClause.has(type) && !unclear.has(type);
    if (!isClear) return this.name(name);
    return [first.text, ...rest.map((part) => this.identifier(part))].join('.');
  }

  identifier({ text, quoted }: Identifier): string {
    const isWord = /^[\p{L}0-9_]+$/u.test(text) && !/^\d+(?:e\d+)?(?:[lsyfd]|bd)?$/i.test(text);
    return quoted || !isWord ? `\`${text.replaceAll('`', '``')}\`` : text;
  }

  identifiers(identifiers: readonly Identifier[]): string {
    return `(${identifiers.map((one) => this.identifier(one)).join(', ')})`;
  }

  name(name: Name): string {
    return name.parts.map((part) => this.identifier(part)).join('.');
  }

  names(names: readonly Name[]): string {
    return `(${names.map((one) => this.name(one)).join(', ')})`;
  }

  expressions(expressions: readonly Expression[]): string {
    return expressions.map((one) => this.expression(one)).join(', ');
  }

  orderItems(items: readonly OrderItem[]): string {
    return items
      .map(({ value, descending, nulls }) => {
        const direction = descending ? ' DESC' : '';
        const place = nulls === undefined ? '' : ` NULLS ${nulls.toUpperCase()}`;
        return `${this.expression(value)}${direction}${place}`;
      })
      .join(', ');
  }

  // -------------------------------------------------------------- expressions

  /** In parentheses when the expression binds more loosely than `least`. */
  expression(expression: Expression, least = 0): string {
    const text = this.#bare(expression);
    return bindingOf(expression) < least ? `(${text})` : text;
  }

  #bare(node: Expression): string {
    switch (node.node) {
      case 'null':
        return 'NULL';
      case 'boolean':
        return node.value ? 'TRUE' : 'FALSE';
      case 'number':
        return node.text + node.suffix;
      case 'string':
        return literalOfText(node.value);
      case 'typed':
        return `${node.type.toUpperCase()} ${literalOfText(node.text)}`;
      case 'column':
        return this.#nameAhead(node.name, wordUse.neverColumn);
      case 'star':
        return this.#star(node);
      case 'unary':
        return this.#unary(node);
      case 'binary':
        return this.#binary(node);
      case 'between':
      case 'in':
      case 'in_query':
      case 'like':
      case 'is':
      case 'is_distinct':
        return this.#predicate(node);
      case 'exists':
        return `EXISTS (${this.query(node.query)})`;
      case 'scalar_query':
        return `(${this.query(node.query)})`;
      case 'case':
        return this.#case(node);
      case 'cast': {
        const word = node.isTry ? 'TRY_CAST' : 'CAST';
        return `${word}(${this.expression(node.value)} AS ${this.type(node.type)})`;
      }
      case 'call':
        return this.call(node);
      case 'lambda': {
        const [only, ...others] = node.parameters;
        const isOne = only !== undefined && others.length === 0;
        const parameters = isOne ? this.identifier(only) : this.identifiers(node.parameters);
        return `${parameters} -> ${this.expression(node.body)}`;
      }
      case 'field':
        return `${this.#base(node.value, swallowsDot)}.${this.identifier(node.field)}`;
      case 'subscript':
        return `${this.#base(node.value, swallowsBracket)}[${this.expression(node.index, binding.comparison)}]`;
      case 'path':
        return `${this.#base(node.value)}:${node.path}`;
      case 'collate':
        return `${this.#base(node.value)} COLLATE ${this.name(node.collation)}`;
      case 'interval':
        return `INTERVAL ${node.units
          .map(({ value, unit }) => `${this.expression(value)} ${unit.toUpperCase()}`)
          .join(' ')}`;
      case 'interval_range': {
        const sign = node.negative ? '-' : '';
        const fields = `${node.from.toUpperCase()} TO ${node.to.toUpperCase()}`;
        return `INTERVAL ${sign}${literalOfText(node.text)} ${fields}`;
      }
      case 'extract': {
        const value = this.expression(node.value, binding.comparison);
        return `EXTRACT(${this.identifier(node.field)} FROM ${value})`;
      }
      case 'trim':
        return this.#trim(node);
      case 'tuple':
        return `(${this.expressions(node.items)})`;
      case 'alias':
        return `${this.expression(node.value)} AS ${this.identifier(node.name)}`;
    }
  }

  /** What takes a `.`, `[…]`, `:` or COLLATE behind itself, in parentheses where it would swallow that. */
  #base(value: Expression, swallowing: ReadonlySet<Expression['node']> = new Set()): string {
    const text = this.expression(value, binding.postfix);
    return swallowing.has(value.node) ? `(${text})` : text;
  }

  #star(node: Extract<Expression, { node: 'star' }>): string {
    const qualifier = node.qualifier === undefined ? '' : `${this.name(node.qualifier)}.`;
    const except = node.except.length === 0 ? '' : ` EXCEPT ${this.names(node.except)}`;
    return `${qualifier}*${except}`;
  }

  #unary(node: Extract<Expression, { node: 'unary' }>): string {
    if (node.operator === 'not') return `NOT ${this.expression(node.operand, binding.not)}`;
    const operand = this.expression(node.operand, binding.sign);
    // `--` begins a comment, and a minus before a number belongs to the number alone.
    const startsNumber = /^[0-9.]/.test(operand) && node.operand.node !== 'number';
    if (node.operator === '-' && startsNumber) return `-(${operand})`;
    return `${node.operator}${operand.startsWith('-') ? ' ' : ''}${operand}`;
  }

  #binary(node: Extract<Expression, { node: 'binary' }>): string {
    const least = binaryBinding[node.operator];
    const left = this.expression(node.left, least);
    const right = this.expression(node.right, least + 1);
    return `${left} ${node.operator.toUpperCase()} ${right}`;
  }

  #predicate(
    node: Extract<
      Expression,
      { node: 'between' | 'in' | 'in_query' | 'like' | 'is' | 'is_distinct' }
    >,
  ): string {
    const not = node.negated ? 'NOT ' : '';
    const value = this.expression(
      node.node === 'is_distinct' ? node.left : node.value,
      binding.comparison,
    );
    switch (node.node) {
      case 'between': {
        const low = this.expression(node.low, binding.comparison);
        const high = this.expression(node.high, binding.comparison);
        return `${value} ${not}BETWEEN ${low} AND ${high}`;
      }
      case 'in':
        return `${value} ${not}IN (${this.expressions(node.list)})`;
      case 'in_query':
        return `${value} ${not}IN (${this.query(node.query)})`;
      case 'like':
        return `${value} ${not}${this.#pattern(node)}`;
      case 'is':
        return `${value} IS ${not}${node.test.toUpperCase()}`;
      case 'is_distinct':
        return `${value} IS ${not}DISTINCT FROM ${this.expression(node.right, binding.comparison)}`;
    }
  }

  #pattern(node: Extract<Expression, { node: 'like' }>): string {
    const word = node.operator.toUpperCase();
    if (node.quantifier !== undefined) {
      return `${word} ${node.quantifier.toUpperCase()} (${this.expressions(node.patterns)})`;
    }
    const patterns = node.patterns.map((one) => this.expression(one, binding.comparison));
    const escapes = node.escape === undefined ? '' : ` ESCAPE ${this.expression(node.escape)}`;
    return `${word} ${patterns.join('')}${escapes}`;
  }

  #case(node: Extract<Expression, { node: 'case' }>): string {
    const operand = node.operand === undefined ? '' : ` ${this.expression(node.operand)}`;
    const branches = node.branches.map(
      (branch) => ` WHEN ${this.expression(branch.when)} THEN ${this.expression(branch.then)}`,
    );
    const otherwise =
      node.otherwise === undefined ? '' : ` ELSE ${this.expression(node.otherwise)}`;
    return `CASE${operand}${branches.join('')}${otherwise} END`;
  }

  #trim(node: Extract<Expression, { node: 'trim' }>): string {
    const characters =
      node.characters === undefined
        ? ''
        : `${this.expression(node.characters, binding.comparison)} `;
    const value = this.expression(node.value, binding.comparison);
    return `TRIM(${node.side.toUpperCase()} ${characters}FROM ${value})`;
  }

  /** A call in an expression; as a relation every clause word needs quotes. */
  call(node: CallExpression, unclear: ReadonlySet<TokenType> = wordUse.neverCalled): string {
    const positional = node.arguments.map((one) => this.expression(one));
    const named = node.named.map(
      ({ name, value }) => `${this.identifier(name)} => ${this.expression(value)}`,
    );
    const [word] = node.name.parts;
    // The one call whose name is two words; the parser alone makes it, in GROUP BY.
    if (word?.text === 'grouping sets' && !word.quoted)
      return `GROUPING SETS (${positional.join(', ')})`;
    const name = this.#nameAhead(node.name, unclear);
    return [
      `${name}(${node.distinct ? 'DISTINCT ' : ''}`,
      `${[...positional, ...named].join(', ')})`,
      ...(node.withinGroup === undefined
        ? []
        : [` WITHIN GROUP (ORDER BY ${this.orderItems(node.withinGroup)})`]),
      ...(node.filter === undefined ? [] : [` FILTER (WHERE ${this.expression(node.filter)})`]),
      ...(node.ignoreNulls ? [' IGNORE NULLS'] : []),
      ...(node.window === undefined ? [] : [` OVER ${this.window(node.window)}`]),
    ].join('');
  }

  window(spec: WindowSpec): string {
    if (spec.reference !== undefined) return this.identifier(spec.reference);
    const parts = [
      ...(spec.partitionBy.length === 0
        ? []
        : [`PARTITION BY ${this.expressions(spec.partitionBy)}`]),
      ...(spec.orderBy.length === 0 ? [] : [`ORDER BY ${this.orderItems(spec.orderBy)}`]),
      ...(spec.frame === undefined ? [] : [spec.frame]),
    ];
    return `(${parts.join(' ')})`;
  }

  // -------------------------------------------------------------- types

  type(type: TypeNode): string {
    switch (type.node) {
      case 'simple': {
        const parameters = type.parameters.length === 0 ? '' : `(${type.parameters.join(', ')})`;
        return `${type.name.toUpperCase()}${parameters}`;
      }
      case 'array':
        return `ARRAY<${this.type(type.element)}>`;
      case 'map':
        return `MAP<${this.type(type.key)}, ${this.type(type.value)}>`;
      case 'struct':
        return `STRUCT<${type.fields.map((field) => this.column(field, ': ')).join(', ')}>`;
      case 'interval_type': {
        const from = type.from === undefined ? '' : ` ${type.from.toUpperCase()}`;
        const to = type.to === undefined ? '' : ` TO ${type.to.toUpperCase()}`;
        return `INTERVAL${from}${to}`;
      }
    }
  }

  column(column: ColumnDefinition, separator = ' '): string {
    return [
      `${this.identifier(column.name)}${separator}${this.type(column.type)}`,
      ...(column.notNull ? ['NOT NULL'] : []),
      ...(column.defaultValue === undefined
        ? []
        : [`DEFAULT ${this.expression(column.defaultValue)}`]),
      ...(column.comment === undefined ? [] : [`COMMENT ${literalOfText(column.comment)}`]),
    ].join(' ');
  }
}

/** A dot behind these would go on their own name, digits or path, so they stand in parentheses in front of a field. */
const swallowsDot: ReadonlySet<Expression['node']> = new Set([
  ...(['column', 'number', 'path', 'collate'] as const),
]);
const swallowsBracket: ReadonlySet<Expression['node']> = new Set(['path']);

function bindingOf(node: Expression): number {
  switch (node.node) {
    case 'binary':
      return binaryBinding[node.operator];
    case 'unary':
      return node.operator === 'not' ? binding.not : binding.sign;
    case 'between':
    case 'in':
    case 'in_query':
    case 'like':
    case 'is':
    case 'is_distinct':
      return binding.predicate;
    case 'lambda':
    case 'alias':
      return 0;
    default:
      return binding.postfix;
  }
}
