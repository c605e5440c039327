import type { Place } from '../base/place.ts';
import { formatType } from '../data/type-text.ts';
import type { DataType } from '../data/types.ts';
import type { Value } from '../data/value.ts';
import { literal, type StrictFunction, strictCall } from './call.ts';
import type { Expression, LambdaNode } from './expression.ts';
import { mismatch } from './faults.ts';
import type { Parameter } from './parameter.ts';

/**
 * How a SQL function is registered. Each file of `functions/` exports one array of definitions of one
 * kind, and `function-registry.ts` joins them: to add a function, add an element to an array.
 *
 * There are three ways to write one, from the shortest to the most general:
 *
 * 1. `strictFunction({ names, parameters, returns, evaluate })`: NULL when an argument is NULL, the
 *    arguments are coerced by `parameters` (see `parameter.ts`) and `evaluate` gets plain values:
 *
 *        strictFunction({
 *          names: ['upper', 'ucase'],
 *          parameters: [parameter.string],
 *          returns: types.string,
 *          evaluate: (text) => text.toUpperCase(),
 *        })
 *
 *    `defaults` are values of trailing parameters that may be left out; `returns` may be a function
 *    of the coerced arguments.
 * 2. `prepare` in the place of `evaluate`: called once with types, time zone and place, returns what
 *    runs on each row. It is the place to choose by type, so that no row looks at types.
 * 3. A definition of its own with `bind`, which builds any tree: for other treatment of NULL, for
 *    lambdas, for functions that stand for another expression. Use `call` and `literal` of `call.ts`,
 *    `castTo` and `unify` of `coerce.ts`, and throw `mismatch` of `faults.ts`.
 *
 * On rows a function throws `new ExpressionError('ERROR_CLASS', 'clause')`; the place is added.
 */
export type FunctionDefinition = {
  /** Lower case; the first one stands in messages. */
  readonly names: readonly string[];
  /** Fewest and most arguments, lambdas included. */
  readonly arity: readonly [least: number, most: number];
  /** Most lambdas among them; none unless it is said. */
  readonly lambdas?: number;
  /** Where arguments may be given by name. */
  readonly parameterNames?: readonly string[];
  /** By position, for arguments that are left out before one that is given by name. */
  readonly parameterDefaults?: readonly (string | null | undefined)[];
  /** An argument that is left out is missed by its name: Spark's other class for too few. */
  readonly isRequired?: true;
  /** With three arguments the first one is the word for a unit, as in `dateadd(DAY, 1, d)`. */
  readonly unitFirst?: true;
  readonly bind: (call: FunctionCall) => Expression;
};

/** A call whose number of arguments was checked. Lambdas always follow the other arguments. */
export type FunctionCall = {
  /** As the first name of the definition. */
  readonly name: string;
  readonly arguments: readonly Expression[];
  /** Of each argument its alias, or the name of the column or field that it is. */
  readonly names: readonly (string | undefined)[];
  readonly lambdas: readonly LambdaArgument[];
  readonly timeZone: string;
  readonly place: Place;
};

/** A lambda before its parameters have types. */
export type LambdaArgument = {
  /** undefined: an expression that stands for a lambda, whatever its parameters are. */
  readonly parameterCount: number | undefined;
  readonly place: Place;
  /** Binds the body with parameters of these types; there must be `parameterCount` of them. */
  readonly bind: (types: readonly DataType[]) => LambdaNode;
};

/** What `prepare` may choose by. */
export type PreparedCall = {
  /** Types of the coerced arguments. */
  readonly types: readonly DataType[];
  readonly arguments: readonly Expression[];
  readonly returns: DataType;
  readonly timeZone: string;
  readonly place: Place;
};

type Parameters = readonly Parameter<Value>[];
type ValuesOf<P extends Parameters> = {
  [K in keyof P]: P[K] extends Parameter<infer V> ? V : never;
};

export type StrictDefinition<P extends Parameters> = {
  readonly names: readonly string[];
  readonly parameters: P;
  /** For the last parameters that may be missing. */
  readonly defaults?: readonly (readonly [Value, DataType])[];
  readonly returns: DataType | ((args: readonly Expression[]) => DataType);
} & (
  | { readonly evaluate: (...values: ValuesOf<P>) => Value }
  | { readonly prepare: (call: PreparedCall) => (...values: ValuesOf<P>) => Value }
);

export function strictFunction<const P extends Parameters>(
  definition: StrictDefinition<P>,
): FunctionDefinition {
  const most = definition.parameters.length;
  const defaults = definition.defaults ?? [];
  return {
    names: definition.names,
    arity: [most - defaults.length, most],
    bind: (call) => {
      const missing = most - call.arguments.length;
      const given = [
        ...call.arguments,
        ...(missing === 0 ? [] : defaults.slice(-missing)).map(([value, type]) =>
          literal(value, type, call.place),
        ),
      ];
      const args = coerceArguments(call.name, given, definition.parameters);
      const returns =
        typeof definition.returns === 'function' ? definition.returns(args) : definition.returns;
      const argumentTypes = args.map((argument) => argument.type);
      return strictCall({
        name: `${call.name}(${argumentTypes.map(formatType).join(',')})`,
        type: returns,
        arguments: args,
        place: call.place,
        prepare: (context) => {
          if ('evaluate' in definition) return definition.evaluate as StrictFunction;
          return definition.prepare({
            types: argumentTypes,
            arguments: args,
            returns,
            timeZone: context.timeZone,
            place: context.place,
          }) as StrictFunction;
        },
      });
    },
  };
}

/** Coerces arguments one by one; a parameter that does not take its argument is a fault at its place. */
export function coerceArguments(
  name: string,
  args: readonly Expression[],
  parameters: Parameters,
): readonly Expression[] {
  return args.map((argument, i) => {
    const parameter = parameters[i];
    return parameter === undefined ? argument : coerceArgument(name, argument, i, parameter);
  });
}

export function coerceArgument(
  name: string,
  argument: Expression,
  index: number,
  parameter: Parameter<Value>,
): Expression {
  const coerced = parameter.coerce(argument);
  if (coerced === undefined) {
    const isTimeAsDate = argument.type.kind === 'time' && parameter.text === 'a date';
    throw mismatch(
      isTimeAsDate ? 'CAST_WITHOUT_SUGGESTION' : 'UNEXPECTED_INPUT_TYPE',
      `argument ${index + 1} of ${name} must be ${parameter.text}, not ${formatType(argument.type)}`,
      argument.place,
    );
  }
  return coerced;
}
