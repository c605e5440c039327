import type { Place } from '../../base/place.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { Value, Variant } from '../../data/value.ts';
import { parseVariant } from '../../data/variant-decode.ts';
import { argumentAt } from '../arguments.ts';
import { call, strictCall } from '../call.ts';
import { converter } from '../cast.ts';
import { canCast, goesIntoVariant } from '../cast-rules.ts';
import { constantValue, isConstant } from '../compile.ts';
import { sessionZone } from '../datetime-math.ts';
import type { Expression, Operation } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault, mismatch } from '../faults.ts';
import {
  coerceArgument,
  type FunctionCall,
  type FunctionDefinition,
  strictFunction,
} from '../function.ts';
import { exactly, type Parameter, parameter } from '../parameter.ts';
import { parseSchema } from '../record-options.ts';
import { types } from '../types.ts';
import { variantOf } from '../variant/variant-cast.ts';
import {
  findVariant,
  parseColonPath,
  parseVariantPath,
  type VariantStep,
} from '../variant/variant-path.ts';
import { schemaOf, schemaText } from '../variant/variant-schema.ts';

/** A variant, or NULL. */
export const variantParameter = exactly(parameter.variant);

const stringOnly: Parameter<string> = exactly(parameter.string);

/** Semi-structured values. */
export const variantFunctions: readonly FunctionDefinition[] = [
  strictFunction({
    names: ['parse_json'],
    parameters: [stringOnly],
    returns: types.variant,
    evaluate: (text) => {
      const parsed = parseVariant(text);
      if (parsed !== undefined) return parsed;
      throw new ExpressionError(
        'MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION',
        'the text is no JSON, or a name stands twice in an object',
      );
    },
  }),
  strictFunction({
    names: ['try_parse_json'],
    parameters: [stringOnly],
    returns: types.variant,
    evaluate: (text) => parseVariant(text) ?? null,
  }),
  { names: ['variant_get'], arity: [2, 3], bind: (c) => variantGet(c, false) },
  { names: ['try_variant_get'], arity: [2, 3], bind: (c) => variantGet(c, true) },
  { names: ['is_variant_null'], arity: [1, 1], bind: isVariantNull },
  strictFunction({
    names: ['is_valid_variant'],
    parameters: [variantParameter],
    returns: types.boolean,
    evaluate: () => true,
  }),
  strictFunction({
    names: ['schema_of_variant'],
    parameters: [variantParameter],
    returns: types.string,
    evaluate: (value) => schemaText(schemaOf((value as Variant).variant)),
  }),
  { names: ['to_variant_object'], arity: [1, 1], bind: toVariantObject },
];

function isVariantNull(c: FunctionCall): Expression {
  const value = coerceArgument(c.name, argumentAt(c, 0), 0, variantParameter);
  const operation: Operation = {
    name: 'is_variant_null',
    deterministic: true,
    compile:
      ([arg = () => null]) =>
      (row, frame) => {
        const found = arg(row, frame) as Variant | null;
        return found !== null && found.variant === null;
      },
  };
  return call(operation, types.boolean, [value], c.place);
}

function toVariantObject(c: FunctionCall): Expression {
  const value = argumentAt(c, 0);
  const { type } = value;
  const isNested = type.kind === 'struct' || type.kind === 'map' || type.kind === 'array';
  if (!isNested || !goesIntoVariant(type, true)) {
    throw mismatch(
      'CAST_WITHOUT_SUGGESTION',
      `${formatType(type)} does not become a variant object`,
      value.place,
    );
  }
  return strictCall({
    name: `to_variant_object(${formatType(type)})`,
    type: types.variant,
    arguments: [value],
    place: c.place,
    prepare: () => {
      const convert = variantOf(type);
      return (given: Value) => ({ variant: convert(given) });
    },
  });
}

// ---------------------------------------------------------------- paths

function variantGet(c: FunctionCall, isTry: boolean): Expression {
  const type = c.arguments[2] === undefined ? types.variant : typeArgument(c, argumentAt(c, 2));
  const value = coerceArgument(c.name, argumentAt(c, 0), 0, variantParameter);
  const path = coerceArgument(c.name, argumentAt(c, 1), 1, stringOnly);
  if (!canCast(types.variant, type)) {
    throw mismatch(
      'CAST_WITHOUT_SUGGESTION',
      `a variant can't be cast to ${formatType(type)}`,
      c.place,
    );
  }
  const pathError = (text: string): ExpressionError =>
    new ExpressionError('INVALID_VARIANT_GET_PATH', `'${text}' is no path of a variant`);
  if (isConstant(path)) {
    const text = constantValue(path, c.timeZone);
    if (typeof text === 'string' && parseVariantPath(text) === undefined) {
      throw fault('INVALID_VARIANT_GET_PATH', pathError(text).message, path.place);
    }
  }
  return strictCall({
    name: `${c.name}(${formatType(type)})`,
    type,
    arguments: [value, path],
    place: c.place,
    prepare: (context) => {
      const convert = converter(
        types.variant,
        type,
        isTry ? 'try' : 'ansi',
        sessionZone(context.timeZone),
      );
      let known: string | undefined;
      let steps: readonly VariantStep[] | undefined;
      return (variant: Variant, text: string) => {
        if (text !== known) {
          steps = parseVariantPath(text);
          known = text;
        }
        if (steps === undefined) throw pathError(text);
        const found = findVariant(variant.variant, steps);
        return found === undefined ? null : convert({ variant: found });
      };
    },
  });
}

function typeArgument(c: FunctionCall, argument: Expression): DataType {
  const text =
    argument.type.kind === 'string' && isConstant(argument)
      ? constantValue(argument, c.timeZone)
      : undefined;
  if (typeof text !== 'string') {
    throw fault(
      'INVALID_SCHEMA.NON_STRING_LITERAL',
      `the type of ${c.name} must be a constant string`,
      argument.place,
    );
  }
  return parseSchema(text, argument);
}

/** `v:a.b[0]`. */
export function variantPath(value: Expression, text: string, place: Place): Expression {
  if (value.type.kind !== 'variant') {
    throw fault(
      'COLUMN_IS_NOT_VARIANT_TYPE',
      `a path behind a colon reads a variant, not ${formatType(value.type)}`,
      value.place,
      'Read JSON text with parse_json(…):path, or with get_json_object.',
    );
  }
  const steps = parseColonPath(text);
  if (steps === undefined) {
    throw fault('PARSE_SYNTAX_ERROR', `'${text}' is no path of a variant`, place);
  }
  return strictCall({
    name: `variant_path(${JSON.stringify(steps)})`,
    type: types.variant,
    arguments: [value],
    place,
    prepare: () => (variant: Variant) => {
      const found = findVariant(variant.variant, steps);
      return found === undefined ? null : { variant: found };
    },
  });
}
