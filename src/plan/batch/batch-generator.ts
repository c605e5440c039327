import { formatType } from '../../data/type-text.ts';
import { findAggregate } from '../../expr/aggregate-registry.ts';
import { constantValue, isConstant } from '../../expr/compile.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault, mismatch } from '../../expr/faults.ts';
import { findFunction } from '../../expr/function-registry.ts';
import { findGenerator, type GeneratorDefinition, strayGenerator } from '../../expr/generator.ts';
import { parameter } from '../../expr/parameter.ts';
import { types } from '../../expr/types.ts';
import type * as ast from '../../sql/ast.ts';
import { functionName, orderedArguments } from '../bind/bind-call.ts';
import { bindExpression, type ExpressionScope } from '../bind/bind-expression.ts';
import type { BoundColumn } from '../bind/bound-column.ts';
import { asColumns, widthOf } from './batch-columns.ts';
import { type BatchContext, type BatchRelation, batchScope } from './batch-context.ts';
import { checkGenerator } from './batch-correlation.ts';
import type { BatchPlan } from './batch-plan.ts';

export type GeneratorUse = {
  readonly call: ast.CallExpression;
  readonly relation: BatchRelation;
  readonly outer: boolean;
  /** Names for the new columns; none for the names of their own. */
  readonly names: readonly ast.Identifier[];
  readonly qualifier: readonly string[];
  readonly aliasFault: string;
  readonly scope: ExpressionScope;
  readonly context: BatchContext;
  /** In a lateral join the values are those of the row on the left. */
  readonly isLateralJoin?: true;
};

/** The relation with the columns of a generator behind its own. */
export function generated(use: GeneratorUse): BatchRelation {
  const { call, relation, context } = use;
  const name = functionName(call);
  const found = findGenerator(name);
  if (found === undefined) {
    const isKnown = findFunction(name) !== undefined || findAggregate(name) !== undefined;
    throw fault(
      isKnown ? 'UNSUPPORTED_GENERATOR.NOT_GENERATOR' : 'UNRESOLVED_ROUTINE',
      `${name} is no generator`,
      call.name.place,
    );
  }
  const args = generatorArguments(found.definition, call, use.scope);
  const generator = found.definition.bind({
    name,
    arguments: args,
    names: args.map(() => undefined),
    lambdas: [],
    timeZone: context.timeZone,
    place: call.place,
  });
  const [firstName] = use.names;
  if (firstName !== undefined && use.names.length !== generator.columns.length) {
    throw fault(
      use.aliasFault,
      `${name} gives ${generator.columns.length} columns, and ${use.names.length} are named`,
      firstName.place,
    );
  }
  checkGenerator(generator.arguments, relation.columns.length > 0 && use.isLateralJoin !== true);
  const width = widthOf(relation);
  const columns = generator.columns.map(
    (column, i): BoundColumn => ({
      name: use.names[i]?.text ?? column.name,
      type: column.type,
      index: width + i,
      qualifier: use.qualifier,
      hidden: false,
      broken: false,
      place: call.place,
    }),
  );
  const outer = found.outer || use.outer;
  const plan: BatchPlan = {
    node: 'generate',
    input: relation.plan,
    generator,
    outer,
    place: call.place,
  };
  return { plan, columns: [...relation.columns, ...columns] };
}

function generatorArguments(
  definition: GeneratorDefinition,
  call: ast.CallExpression,
  scope: ExpressionScope,
): readonly Expression[] {
  const written = orderedArguments(
    {
      ...definition,
      bind: () => {
        throw new TypeError('a generator is no expression');
      },
    },
    call,
  );
  const args = written.flatMap((argument) => {
    if (argument.node !== 'star') return [bindExpression(argument, scope)];
    return (scope.star?.(argument) ?? []).map((one) => one.column);
  });
  const [least, most] = definition.arity;
  if (args.length < least || args.length > most) {
    throw fault(
      'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
      `${definition.names[0]} takes ${least === most ? least : `${least} or more`} arguments, not ${args.length}`,
      call.place,
    );
  }
  return args;
}

/** `range(end)`, `range(start, end[, step[, partitions]])`. */
export function bindRange(call: ast.CallExpression, context: BatchContext): BatchRelation {
  const scope = batchScope({ columns: [] }, context);
  const given = call.arguments.length + call.named.length;
  if (given < 1 || given > 4) {
    throw fault(
      'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
      `range takes 1 to 4 arguments, not ${given}`,
      call.place,
    );
  }
  const numbers = call.arguments.map((argument, i): bigint => {
    const bound = bindExpression(argument, scope);
    if (!isConstant(bound)) {
      throw mismatch('NON_FOLDABLE_INPUT', 'the bounds of range must be constant', bound.place);
    }
    const coerced = bound.type.kind === 'void' ? undefined : parameter.bigint.coerce(bound);
    if (coerced === undefined) {
      throw fault(
        'UNEXPECTED_INPUT_TYPE',
        `bound ${i + 1} of range must be a bigint, not ${formatType(bound.type)}`,
        bound.place,
      );
    }
    return constantValue(coerced, context.timeZone) as bigint;
  });
  const [first = 0n, second, step = 1n] = numbers;
  if (step === 0n) throw fault('FAILED_FUNCTION_CALL', 'the step of range is 0', call.place);
  const [start, end] = second === undefined ? [0n, first] : [first, second];
  return {
    plan: { node: 'range', start, end, step },
    columns: asColumns([{ name: 'id', type: types.bigint }], [], call.place),
  };
}

/** The call of a generator that an item of a select list is. */
export function generatorCall(node: ast.Expression): ast.CallExpression | undefined {
  if (node.node === 'alias') return generatorCall(node.value);
  if (node.node !== 'call' || node.window !== undefined) return undefined;
  const found = findGenerator(functionName(node));
  if (found === undefined || found.definition.isTableFunction === true) return undefined;
  for (const argument of node.arguments) {
    const inner = generatorCall(argument);
    if (inner !== undefined) {
      throw strayGenerator('NESTED_IN_EXPRESSIONS', functionName(inner), inner.place);
    }
  }
  return node;
}
