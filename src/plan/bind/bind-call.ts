import { nearestNames } from '../../base/nearest-name.ts';
import { literal } from '../../expr/call.ts';
import type { Expression } from '../../expr/expression.ts';
import { fault } from '../../expr/faults.ts';
import type { FunctionCall, FunctionDefinition, LambdaArgument } from '../../expr/function.ts';
import type * as ast from '../../sql/ast.ts';

/** Checks the number of arguments, and lets the definition build its expression. */
export function bindCall(definition: FunctionDefinition, call: FunctionCall): Expression {
  const name = definition.names[0] ?? call.name;
  const count = call.arguments.length + call.lambdas.length;
  const [least, most] = definition.arity;
  if (count < least || count > most) {
    if (count < least && definition.isRequired === true) {
      throw fault('REQUIRED_PARAMETER_NOT_FOUND', `${name} lacks an argument`, call.place);
    }
    // With a unit as its only form it is no function but a form of the language.
    if (definition.unitFirst === true && least === most) {
      throw fault('UNRESOLVED_ROUTINE', `${name} takes a unit and two arguments`, call.place);
    }
    const wanted =
      least === most ? `${least}` : most === Infinity ? `${least} or more` : `${least} to ${most}`;
    throw fault(
      'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
      `${name} takes ${wanted} ${wanted === '1' ? 'argument' : 'arguments'}, not ${count}`,
      call.place,
    );
  }
  const lambdasMost = definition.lambdas ?? 0;
  const surplus = call.lambdas[lambdasMost];
  if (surplus !== undefined) {
    throw fault(
      'INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION',
      `${name} takes ${lambdasMost === 0 ? 'no lambda' : `${lambdasMost} lambdas at most`}`,
      surplus.place,
    );
  }
  return definition.bind({ ...withLambdas(call, most - lambdasMost), name });
}

/** Where a lambda belongs any expression stands for one that does not look at its parameters. */
function withLambdas(call: FunctionCall, argumentsMost: number): FunctionCall {
  if (call.arguments.length <= argumentsMost) return call;
  const standing = call.arguments.slice(argumentsMost).map((body): LambdaArgument => {
    const { place, type } = body;
    return {
      parameterCount: undefined,
      place,
      bind: () => ({ node: 'lambda', type, parameters: [], body, place }),
    };
  });
  const lambdas = [...call.lambdas, ...standing].sort((a, b) => a.place.start - b.place.start);
  return { ...call, arguments: call.arguments.slice(0, argumentsMost), lambdas };
}

/** In lower case, without the place in Spark's catalog. */
export function functionName(node: ast.CallExpression): string {
  const parts = node.name.parts.map((part) => part.text.toLowerCase());
  // Spark's own functions may be named with their place in its catalog.
  const isQualified = parts.length > 1 && (parts[0] === 'builtin' || parts[0] === 'system');
  return isQualified ? (parts.at(-1) ?? '') : parts.join('.');
}

/** Arguments given by name put where they belong, behind those given by place. */
export function orderedArguments(
  definition: FunctionDefinition,
  node: ast.CallExpression,
): readonly ast.Expression[] {
  if (node.named.length === 0) return node.arguments;
  const known = definition.parameterNames;
  const [first] = node.named;
  if (known === undefined && first !== undefined) {
    throw fault(
      'NAMED_PARAMETERS_NOT_SUPPORTED',
      `${definition.names[0] ?? ''} takes its arguments by place only`,
      first.name.place,
    );
  }
  const placed: (ast.Expression | undefined)[] = [...node.arguments];
  for (const { name, value } of node.named) {
    const index = (known ?? []).indexOf(name.text.toLowerCase());
    if (index < 0) {
      const near = nearestNames(name.text, known ?? []);
      throw fault(
        'UNRECOGNIZED_PARAMETER_NAME',
        `${definition.names[0] ?? ''} has no parameter ${name.text}`,
        name.place,
        near.length === 0 ? undefined : `Did you mean ${near.join(', ')}?`,
      );
    }
    if (placed[index] !== undefined) {
      const isNamed = index >= node.arguments.length;
      throw fault(
        `DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.${isNamed ? 'DOUBLE_NAMED_ARGUMENT_REFERENCE' : 'BOTH_POSITIONAL_AND_NAMED'}`,
        `${name.text} is given twice`,
        name.place,
      );
    }
    placed[index] = value;
  }
  return Array.from(placed, (argument, i): ast.Expression => {
    if (argument !== undefined) return argument;
    const value = i < definition.arity[0] ? undefined : definition.parameterDefaults?.[i];
    if (value === null) return { node: 'null', place: node.place };
    if (value !== undefined) return { node: 'string', value, place: node.place };
    throw fault(
      'REQUIRED_PARAMETER_NOT_FOUND',
      `${definition.names[0] ?? ''} lacks an argument`,
      node.place,
    );
  });
}

/** `DAY` in `dateadd(DAY, 1, d)` is a word of the language there, not a column. */
export function unitName(
  definition: FunctionDefinition,
  argument: ast.Expression,
  count: number,
): Expression | undefined {
  if (definition.unitFirst !== true || count !== 3) return undefined;
  const name = definition.names[0] ?? '';
  if (argument.node === 'string') {
    throw fault(
      'INVALID_PARAMETER_VALUE.DATETIME_UNIT',
      `the unit of ${name} is a word, not a text`,
      argument.place,
      `Write ${argument.value} without quotes.`,
    );
  }
  if (argument.node !== 'column') {
    throw fault(
      'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
      `${name} with three arguments begins with a unit`,
      argument.place,
    );
  }
  const [part] = argument.name.parts;
  if (argument.name.parts.length !== 1 || part === undefined) return undefined;
  return literal(part.text, { kind: 'string' }, argument.place);
}
