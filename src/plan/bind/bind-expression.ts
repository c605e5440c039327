import type { Place } from '../../base/place.ts';
import type { DataType } from '../../data/types.ts';
import { literal } from '../../expr/call.ts';
import { writtenCast } from '../../expr/coerce.ts';
import type { Expression, LambdaNode } from '../../expr/expression.ts';
import { fault } from '../../expr/faults.ts';
import type { FunctionDefinition, LambdaArgument } from '../../expr/function.ts';
import { findFunction, unknownFunction } from '../../expr/function-registry.ts';
import { structCall } from '../../expr/functions/struct.ts';
import { variantPath } from '../../expr/functions/variant.ts';
import { field, subscript } from '../../expr/operators/access.ts';
import { arithmetic, negate, unaryOperand } from '../../expr/operators/arithmetic.ts';
import { bitwise, bitwiseNot, shift } from '../../expr/operators/bitwise.ts';
import { between, comparison, isIn, nullSafeEqual } from '../../expr/operators/comparison.ts';
import { caseWhen } from '../../expr/operators/conditional.ts';
import { combineLikes, escapeOf, like } from '../../expr/operators/like.ts';
import { and, isNull, isTruth, not, or } from '../../expr/operators/logic.ts';
import type * as ast from '../../sql/ast.ts';
import { AlreadyReported } from '../faults.ts';
import { bindCall, functionName, orderedArguments, unitName } from './bind-call.ts';
import { bindInterval, bindIntervalRange, bindNumber, bindTyped } from './bind-literal.ts';
import { resolveType } from './resolve-type.ts';
import { specialTime } from './special-time.ts';

/** What is no expression over the values of one row. */
export type RefusedKind = 'aggregate' | 'window' | 'generator' | 'subquery' | 'star';

/** A column, and the names behind it that are fields of its value. */
export type ResolvedName = {
  readonly column: Expression;
  readonly fields: readonly ast.Identifier[];
};

/** What names mean where an expression stands. */
export type ExpressionScope = {
  readonly timeZone: string;
  /** Throws a FaultError when there is no such column, or more than one. */
  readonly resolve: (name: ast.Name) => ResolvedName;
  /** Throws the fault that fits the place; without it a plain NOT_SUPPORTED is thrown. */
  readonly refuse?: (kind: RefusedKind, node: ast.Expression) => never;
  /** The columns of `*` in `struct(*)`; refused without it. */
  readonly star?: (
    node: Extract<ast.Expression, { node: 'star' }>,
  ) => readonly { readonly name: string; readonly column: Expression }[];
  /** What a call means that is no function of one row, such as an aggregate; undefined for all others. */
  readonly call?: (node: ast.CallExpression, bind: Bind) => Expression | undefined;
  /** A subquery; refused without it. */
  readonly subquery?: (node: SubqueryNode, bind: Bind, isInLambda: boolean) => Expression;
};

/** Binds a part of an expression where it stands. */
export type Bind = (node: ast.Expression) => Expression;

export type SubqueryNode = Extract<
  ast.Expression,
  { node: 'in_query' | 'exists' | 'scalar_query' }
>;

/**
 * Gives a written expression its types: names are resolved, functions are found, and every coercion
 * becomes a node. Throws the first fault of the expression as a FaultError with its place.
 */
export function bindExpression(node: ast.Expression, scope: ExpressionScope): Expression {
  return new Binder(scope, []).bind(node);
}

type LambdaParameter = { readonly name: string; readonly type: DataType; readonly index: number };

class Binder {
  readonly #scope: ExpressionScope;
  /** Parameters of the lambdas around, outermost first. */
  readonly #parameters: readonly LambdaParameter[];

  constructor(scope: ExpressionScope, parameters: readonly LambdaParameter[]) {
    this.#scope = scope;
    this.#parameters = parameters;
  }

  bind(node: ast.Expression): Expression {
    switch (node.node) {
      case 'null':
        return literal(null, { kind: 'void' }, node.place);
      case 'boolean':
        return literal(node.value, { kind: 'boolean' }, node.place);
      case 'string':
        return literal(node.value, { kind: 'string' }, node.place);
      case 'number':
        return bindNumber(node, false, node.place);
      case 'typed':
        return this.#typed(node);
      case 'interval':
        return bindInterval(node);
      case 'interval_range':
        return bindIntervalRange(node);
      case 'column':
        return this.#column(node.name);
      case 'unary':
        return this.#unary(node);
      case 'binary':
        return this.#binary(node);
      case 'call':
        return this.#call(node);
      case 'cast':
        return this.#cast(node);
      case 'case':
        return this.#case(node);
      case 'field':
        return field(this.bind(node.value), node.field.text, node.place);
      case 'subscript':
        return subscript(this.bind(node.value), this.bind(node.index), node.place);
      case 'alias':
        return this.bind(node.value);
      case 'tuple':
        return this.#tuple(node);
      case 'extract':
        return this.#named('extract', node.place, [
          literal(node.field.text, { kind: 'string' }, node.field.place),
          this.bind(node.value),
        ]);
      case 'trim':
        return this.#trim(node);
      default:
        return this.#predicate(node);
    }
  }

  #typed(node: Extract<ast.Expression, { node: 'typed' }>): Expression {
    const { timeZone } = this.#scope;
    const kind = node.type === 'timestamp_ltz' ? 'timestamp' : node.type;
    const isTime = kind === 'date' || kind === 'timestamp' || kind === 'timestamp_ntz';
    const special = isTime && specialTime(node.text, { kind }, { timeZone, place: node.place });
    return special || bindTyped(node, timeZone);
  }

  #cast(node: Extract<ast.Expression, { node: 'cast' }>): Expression {
    const type = resolveType(node.type);
    const { timeZone } = this.#scope;
    const special =
      node.value.node === 'string'
        ? specialTime(node.value.value, type, { timeZone, place: node.place })
        : undefined;
    if (special !== undefined) return special;
    return writtenCast(this.bind(node.value), type, node.isTry ? 'try' : 'ansi', node.place);
  }

  #predicate(node: ast.Expression): Expression {
    switch (node.node) {
      case 'between': {
        const inside = between(
          this.bind(node.value),
          this.bind(node.low),
          this.bind(node.high),
          node.place,
        );
        return node.negated ? not(inside, node.place) : inside;
      }
      case 'in': {
        const found = isIn(
          this.bind(node.value),
          node.list.map((item) => this.bind(item)),
          node.place,
        );
        return node.negated ? not(found, node.place) : found;
      }
      case 'is':
        if (node.test === 'null') return isNull(this.bind(node.value), node.negated, node.place);
        return isTruth(this.bind(node.value), node.test, node.negated, node.place);
      case 'is_distinct': {
        const same = nullSafeEqual(this.bind(node.left), this.bind(node.right), node.place);
        return node.negated ? same : not(same, node.place);
      }
      case 'like':
        return this.#like(node);
      case 'in_query':
      case 'exists':
      case 'scalar_query':
        return (
          this.#scope.subquery?.(node, (part) => this.bind(part), this.#parameters.length > 0) ??
          this.#refuse('subquery', node)
        );
      case 'star':
        return this.#refuse('star', node);
      case 'lambda':
        throw fault(
          'INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION',
          'a lambda stands only as an argument of a function that takes one',
          node.place,
        );
      case 'collate':
        return this.#collate(node);
      case 'path':
        return variantPath(this.bind(node.value), node.path, node.place);
      default:
        throw fault('NOT_SUPPORTED', `${node.node} is not supported here`, node.place);
    }
  }

  #refuse(kind: RefusedKind, node: ast.Expression): never {
    this.#scope.refuse?.(kind, node);
    throw fault('NOT_SUPPORTED', `a ${kind} can't stand in this expression`, node.place);
  }

  #column(name: ast.Name): Expression {
    const [first, ...rest] = name.parts;
    if (first === undefined) throw new AlreadyReported(name.place);
    const wanted = first.text.toLowerCase();
    const parameter = this.#parameters.findLast((p) => p.name.toLowerCase() === wanted);
    if (parameter !== undefined) {
      const value: Expression = { node: 'parameter', ...parameter, place: first.place };
      return withFields(value, rest);
    }
    if (name.parts.length === 1 && !first.quoted) {
      const clock = findClock(wanted);
      if (clock !== undefined) return this.#columnOrClock(name, clock);
    }
    const { column, fields } = this.#scope.resolve(name);
    return withFields(column, fields);
  }

  /** `current_date` without parentheses is a function unless there is a column of that name. */
  #columnOrClock(name: ast.Name, clock: FunctionDefinition): Expression {
    try {
      const { column, fields } = this.#scope.resolve(name);
      return withFields(column, fields);
    } catch {
      return bindCall(clock, { ...emptyCall, timeZone: this.#scope.timeZone, place: name.place });
    }
  }

  #unary(node: Extract<ast.Expression, { node: 'unary' }>): Expression {
    if (node.operator === '-' && node.operand.node === 'number') {
      return bindNumber(node.operand, true, node.place);
    }
    if (node.operator === 'not' && node.operand.node === 'in_query') {
      return this.bind({ ...node.operand, negated: !node.operand.negated });
    }
    if (node.operator === 'not' && node.operand.node === 'binary') {
      const pushed = pushedNot(node.operand);
      if (pushed !== undefined) return this.bind(pushed);
    }
    const operand = this.bind(node.operand);
    switch (node.operator) {
      case '-':
        return negate(operand, node.place);
      case '+':
        // A number behind a plus no longer counts as written out.
        return positive(unaryOperand('+', operand), node.place);
      case '~':
        return bitwiseNot(operand, node.place);
      case 'not':
        return not(operand, node.place);
    }
  }

  #binary(node: Extract<ast.Expression, { node: 'binary' }>): Expression {
    const left = this.bind(node.left);
    const right = this.bind(node.right);
    const { operator, place } = node;
    switch (operator) {
      case '+':
      case '-':
      case '*':
      case '/':
      case '%':
      case 'div':
        return arithmetic(operator, left, right, { place });
      case '=':
      case '<>':
      case '<':
      case '<=':
      case '>':
      case '>=':
        return comparison(operator, left, right, place);
      case '<=>':
        return nullSafeEqual(left, right, place);
      case 'and':
        return and(left, right, place);
      case 'or':
        return or(left, right, place);
      case '||':
        return this.#named('concat', place, [left, right]);
      case '&':
      case '|':
      case '^':
        return bitwise(operator, left, right, place);
      case '<<':
      case '>>':
      case '>>>':
        return shift(operator, left, right, place);
    }
  }

  #case(node: Extract<ast.Expression, { node: 'case' }>): Expression {
    const operand = node.operand === undefined ? undefined : this.bind(node.operand);
    const branches = node.branches.map((branch) => {
      const when = this.bind(branch.when);
      return {
        when: operand === undefined ? when : comparison('=', operand, when, branch.when.place),
        result: this.bind(branch.then),
      };
    });
    const otherwise = node.otherwise === undefined ? undefined : this.bind(node.otherwise);
    return caseWhen(branches, otherwise, node.place);
  }

  #like(node: Extract<ast.Expression, { node: 'like' }>): Expression {
    const value = this.bind(node.value);
    const { operator, place } = node;
    if (operator === 'rlike') {
      const parts = node.patterns.map((p) => this.#named('rlike', place, [value, this.bind(p)]));
      const found = combineLikes(parts, node.quantifier ?? 'any', place);
      return node.negated ? not(found, place) : found;
    }
    const escapeCharacter = escapeOf(node.escape && this.bind(node.escape), this.#scope.timeZone);
    const single = (pattern: ast.Expression): Expression => {
      const found = like(operator, value, this.bind(pattern), { escapeCharacter, place });
      return node.negated ? not(found, place) : found;
    };
    return combineLikes(node.patterns.map(single), node.quantifier ?? 'any', place);
  }

  #tuple(node: Extract<ast.Expression, { node: 'tuple' }>): Expression {
    return structCall(
      node.items.map((item) => this.bind(item)),
      node.items.map(nameOf),
      node.place,
    );
  }

  #trim(node: Extract<ast.Expression, { node: 'trim' }>): Expression {
    const value = this.bind(node.value);
    const name = { both: 'btrim', leading: 'ltrim', trailing: 'rtrim' }[node.side];
    if (node.characters === undefined) return this.#named(name, node.place, [value]);
    const characters = this.bind(node.characters);
    // The two-argument ltrim and rtrim take the characters first, btrim the text.
    const args = node.side === 'both' ? [value, characters] : [characters, value];
    return this.#named(name, node.place, args);
  }

  #collate(node: Extract<ast.Expression, { node: 'collate' }>): Expression {
    const name = node.collation.parts.map((part) => part.text).join('.');
    if (name.toUpperCase() === 'UTF8_BINARY') return this.bind(node.value);
    throw fault(
      'NOT_SUPPORTED',
      `the collation ${name} is not supported`,
      node.collation.place,
      'Strings are compared by their UTF-8 bytes; compare lower(…) to ignore case.',
    );
  }

  /** A call of a function that is known to exist. */
  #named(name: string, place: Place, args: readonly Expression[]): Expression {
    const definition = findFunction(name);
    if (definition === undefined) throw unknownFunction(name, place);
    return bindCall(definition, {
      ...emptyCall,
      timeZone: this.#scope.timeZone,
      place,
      arguments: args,
      names: args.map(() => undefined),
    });
  }

  #call(node: ast.CallExpression): Expression {
    const special = this.#scope.call?.(node, (part) => this.bind(part));
    if (special !== undefined) return special;
    if (node.window !== undefined) return this.#refuse('window', node);
    const name = functionName(node);
    const definition = findFunction(name);
    if (node.distinct || node.filter !== undefined) {
      if (definition === undefined) return this.#refuse('aggregate', node);
      throw fault(
        'INVALID_SQL_SYNTAX.FUNCTION_WITH_UNSUPPORTED_SYNTAX',
        `${name} is no aggregate, so it has neither DISTINCT nor FILTER`,
        node.place,
      );
    }
    if (definition === undefined) throw unknownFunction(name, node.name.place);
    const written = orderedArguments(definition, node);
    const args: Expression[] = [];
    const names: (string | undefined)[] = [];
    const lambdas: LambdaArgument[] = [];
    for (const [i, argument] of written.entries()) {
      if (argument.node === 'lambda') {
        lambdas.push(this.#lambda(argument));
      } else if (argument.node === 'star') {
        for (const found of this.#star(argument)) {
          args.push(found.column);
          names.push(found.name);
        }
      } else {
        const unit = i === 0 ? unitName(definition, argument, written.length) : undefined;
        args.push(unit ?? this.bind(argument));
        names.push(nameOf(argument));
      }
    }
    return bindCall(definition, {
      name: definition.names[0] ?? name,
      timeZone: this.#scope.timeZone,
      place: node.place,
      arguments: args,
      names,
      lambdas,
    });
  }

  #star(
    node: Extract<ast.Expression, { node: 'star' }>,
  ): readonly { readonly name: string; readonly column: Expression }[] {
    return this.#scope.star?.(node) ?? this.#refuse('star', node);
  }

  #lambda(node: Extract<ast.Expression, { node: 'lambda' }>): LambdaArgument {
    return {
      parameterCount: node.parameters.length,
      place: node.place,
      bind: (types): LambdaNode => {
        const first = this.#parameters.length;
        const added = node.parameters.map((parameter, i) => ({
          name: parameter.text,
          type: types[i] ?? { kind: 'void' as const },
          index: first + i,
        }));
        const inner = new Binder(this.#scope, [...this.#parameters, ...added]);
        const body = inner.bind(node.body);
        return {
          node: 'lambda',
          type: body.type,
          parameters: added.map((parameter) => parameter.index),
          body,
          place: node.place,
        };
      },
    };
  }
}

const emptyCall = { name: '', arguments: [], names: [], lambdas: [] } as const;

function positive(value: Expression, place: Place): Expression {
  return writtenCast(value, value.type, 'ansi', place);
}

/**
 * NOT put on both sides of an AND or OR that holds IN (SELECT …): which of IN and NOT IN it is decides
 * what a NULL among the rows means. undefined for all others.
 */
function pushedNot(node: Extract<ast.Expression, { node: 'binary' }>): ast.Expression | undefined {
  if (node.operator !== 'and' && node.operator !== 'or') return undefined;
  if (!holdsQuery(node)) return undefined;
  const not = (operand: ast.Expression): ast.Expression => ({
    ...{ node: 'unary', operator: 'not', operand, place: operand.place },
  });
  const operator = node.operator === 'and' ? 'or' : 'and';
  return { ...node, operator, left: not(node.left), right: not(node.right) };
}

function holdsQuery(node: ast.Expression): boolean {
  switch (node.node) {
    case 'in_query':
      return true;
    case 'binary':
      return holdsQuery(node.left) || holdsQuery(node.right);
    case 'unary':
      return holdsQuery(node.operand);
    default:
      return false;
  }
}

function withFields(value: Expression, fields: readonly ast.Identifier[]): Expression {
  return fields.reduce<Expression>((base, name) => field(base, name.text, name.place), value);
}

/** The name that an argument brings along, as the fields of `struct(a, b AS c)` need it. */
function nameOf(node: ast.Expression): string | undefined {
  switch (node.node) {
    case 'alias':
      return node.name.text;
    case 'column':
      return node.name.parts.at(-1)?.text;
    case 'field':
      return node.field.text;
    default:
      return undefined;
  }
}

const clockNames: ReadonlySet<string> = new Set([
  'current_date',
  'current_timestamp',
  'current_time',
  'localtimestamp',
]);

function findClock(name: string): FunctionDefinition | undefined {
  return clockNames.has(name) ? findFunction(name) : undefined;
}
