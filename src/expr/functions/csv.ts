import { formatDate, parseDate, parseTime, parseTimestamp } from '../../data/date-time.ts';
import { decimalPrecisionMax } from '../../data/decimal.ts';
import { formatType } from '../../data/type-text.ts';
import type { DataType } from '../../data/types.ts';
import type { MapValue, Value } from '../../data/value.ts';
import { argumentAt } from '../arguments.ts';
import { call, strictCall } from '../call.ts';
import { castTo } from '../coerce.ts';
import { constantValue, isConstant } from '../compile.ts';
import { type CsvNames, csvConverter } from '../csv/csv-convert.ts';
import { type CsvFormat, csvFields } from '../csv/csv-read.ts';
import { sessionZone } from '../datetime-math.ts';
import type { Expression } from '../expression.ts';
import { ExpressionError } from '../expression-error.ts';
import { fault, mismatch } from '../faults.ts';
import { coerceArgument, type FunctionCall, type FunctionDefinition } from '../function.ts';
import { localMillis, zonedMillis } from '../json/json-encode.ts';
import { exactly, parameter } from '../parameter.ts';
import { formatsOf, optionsOf, parseSchema, recordZone, writerOf } from '../record-options.ts';
import { decimal, types } from '../types.ts';
import { textOf } from '../value-text.ts';

/** Lines of CSV read and written. */
export const csvFunctions: readonly FunctionDefinition[] = [
  { names: ['from_csv'], arity: [2, 3], bind: fromCsv },
  { names: ['to_csv'], arity: [1, 2], bind: toCsv },
  { names: ['schema_of_csv'], arity: [1, 2], bind: schemaOfCsv },
];

type Options = ReadonlyMap<string, string>;

function flag(options: Options, name: string): boolean {
  return options.get(name)?.toLowerCase() === 'true';
}

function separatorOf(options: Options): string {
  const text = options.get('sep') ?? options.get('delimiter') ?? ',';
  if (text === '') {
    throw new ExpressionError('INVALID_DELIMITER_VALUE.EMPTY', 'the separator of a line is empty');
  }
  return text.replaceAll('\\t', '\t').replaceAll('\\\\', '\\');
}

function formatOf(options: Options): CsvFormat {
  const character = (name: string, fallback: string | undefined): string | undefined => {
    const text = options.get(name);
    if (text === undefined) return fallback;
    return text === '' || text === '\0' ? undefined : text[0];
  };
  return {
    separator: separatorOf(options),
    quote: character('quote', '"'),
    escape: character('escape', '\\'),
    comment: character('comment', undefined),
    trimsStart: flag(options, 'ignoreleadingwhitespace'),
    trimsEnd: flag(options, 'ignoretrailingwhitespace'),
  };
}

// ---------------------------------------------------------------- from_csv

/** Reads permissively: what does not fit is NULL, and with mode FAILFAST an error. */
function fromCsv(c: FunctionCall): Expression {
  const type = schemaOf(c);
  const options = optionsOf(c, 2);
  const line = coerceArgument(c.name, argumentAt(c, 0), 0, exactly(parameter.string));
  const mode = options.get('mode')?.toUpperCase() ?? 'PERMISSIVE';
  // A mode that does not exist is the permissive one.
  if (mode === 'DROPMALFORMED') {
    throw fault('PARSE_MODE_UNSUPPORTED', `from_csv has no mode ${mode}`, c.place);
  }
  const corruptName = options.get('columnnameofcorruptrecord') ?? '_corrupt_record';
  const corrupt = type.fields.findIndex((field) => field.name === corruptName);
  if (corrupt >= 0 && type.fields[corrupt]?.type.kind !== 'string') {
    const message = `the column "${corruptName}" for lines that do not fit is no string`;
    throw fault('INVALID_CORRUPT_RECORD_TYPE', message, argumentAt(c, 1).place);
  }
  const names = namesOf(options);
  const nullValue = options.get('nullvalue') ?? '';
  const emptyValue = options.get('emptyvalue') ?? '';
  const longest = Number(options.get('maxcharspercolumn') ?? -1);
  return strictCall({
    name: `from_csv(${formatType(type)},${JSON.stringify([...options])})`,
    type,
    arguments: [line],
    place: c.place,
    prepare: (context) => {
      const format = formatOf(options);
      const formats = formatsOf(options, recordZone(options, context.timeZone));
      const converters = type.fields
        .filter((_, i) => i !== corrupt)
        .map((field) => csvConverter(field.type, formats, names));
      // NULL within a variant is a value.
      const nothings = type.fields
        .filter((_, i) => i !== corrupt)
        .map((field): Value => (field.type.kind === 'variant' ? { variant: null } : null));
      return (text: string) => {
        const fields = csvFields(text, format);
        let isWhole = fields !== undefined && text !== '' && fields.length === converters.length;
        if (longest > 0 && fields?.some((field) => field.text.length > longest) === true) {
          throw new ExpressionError(
            'MALFORMED_CSV_RECORD',
            `a field of the line has more than ${longest} characters`,
          );
        }
        const row = converters.map((convert, i): Value => {
          const field = text === '' ? undefined : fields?.[i];
          if (field === undefined) return null;
          const content = field.text === '' ? emptyValue : field.text;
          if ((field.text === '' && !field.isQuoted) || content === nullValue)
            return nothings[i] ?? null;
          const value = convert?.(content);
          if (value === undefined) isWhole = false;
          return value ?? null;
        });
        if (!isWhole && mode === 'FAILFAST') {
          throw new ExpressionError(
            'MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION',
            'the line does not fit the schema of from_csv',
          );
        }
        return corrupt < 0 ? row : row.toSpliced(corrupt, 0, isWhole || text === '' ? null : text);
      };
    },
  });
}

function schemaOf(c: FunctionCall): Extract<DataType, { kind: 'struct' }> {
  const argument = argumentAt(c, 1);
  const text =
    argument.type.kind === 'string' && isConstant(argument)
      ? constantValue(argument, c.timeZone)
      : undefined;
  if (typeof text !== 'string') {
    throw fault(
      'INVALID_SCHEMA.NON_STRING_LITERAL',
      'the schema of from_csv must be a constant string',
      argument.place,
    );
  }
  const type = parseSchema(text, argument);
  if (type.kind !== 'struct') {
    throw fault('INVALID_SCHEMA.NON_STRUCT_TYPE', 'from_csv reads structs', argument.place);
  }
  for (const field of type.fields) {
    if (csvConverter(field.type, { zone: sessionZone(c.timeZone) }, noNames) !== undefined)
      continue;
    throw fault(
      'UNSUPPORTED_DATATYPE',
      `CSV has no form for ${formatType(field.type)}`,
      argument.place,
    );
  }
  return type;
}

const noNames: CsvNames = { nan: 'NaN', positive: 'Inf', negative: '-Inf' };

function namesOf(options: Options): CsvNames {
  return {
    nan: options.get('nanvalue') ?? noNames.nan,
    positive: options.get('positiveinf') ?? noNames.positive,
    negative: options.get('negativeinf') ?? noNames.negative,
  };
}

// ---------------------------------------------------------------- to_csv

function toCsv(c: FunctionCall): Expression {
  const options = optionsOf(c, 1);
  const value = argumentAt(c, 0);
  const { type } = value;
  if (type.kind === 'void') return castTo(value, types.string);
  if (type.kind !== 'struct' || type.fields.some((field) => field.type.kind === 'variant')) {
    throw mismatch(
      'UNSUPPORTED_INPUT_TYPE',
      `to_csv writes structs, not ${formatType(type)}`,
      value.place,
    );
  }
  return strictCall({
    name: `to_csv(${JSON.stringify([...options])})`,
    type: types.string,
    arguments: [value],
    place: c.place,
    prepare: (context) => {
      const write = fieldWriter(options);
      const writers = type.fields.map((field) => {
        const text = csvText(field.type, options, context.timeZone);
        return (part: Value) => (part === null ? null : text(part));
      });
      const separator = separatorOf(options);
      return (row: readonly Value[]) => {
        const line = writers.map((text, i) => write(text(row[i] ?? null))).join(separator);
        return line === '' ? null : line;
      };
    },
  });
}

function csvText(type: DataType, options: Options, timeZone: string): (value: Value) => string {
  const zone = recordZone(options, timeZone);
  const formats = writerOf(options, zone);
  switch (type.kind) {
    case 'date': {
      const format = formats.date ?? formatDate;
      return (value) => format(value as number);
    }
    case 'timestamp': {
      const format = formats.timestamp ?? ((micros: bigint) => zonedMillis(micros, zone));
      return (value) => format(value as bigint);
    }
    case 'timestamp_ntz': {
      const format = formats.timestampNtz ?? localMillis;
      return (value) => format(value as bigint);
    }
    case 'binary':
      return (value) =>
        `[${[...(value as Uint8Array)].map((byte) => byte.toString(16).toUpperCase().padStart(2, '0')).join(' ')}]`;
    case 'array':
    case 'map':
    case 'struct':
      return nestedText(type, options, timeZone);
    default:
      return textOf(type, zone);
  }
}

/** A value with parts within a field; a part that is NULL is the text of NULL, which is none by default. */
function nestedText(
  type: Extract<DataType, { kind: 'array' | 'map' | 'struct' }>,
  options: Options,
  timeZone: string,
): (value: Value) => string {
  const nothing = options.get('nullvalue') ?? '';
  const part = (of: DataType): ((value: Value, lead: string) => string) => {
    const text = csvText(of, options, timeZone);
    return (value, lead) => {
      if (value !== null) return lead + text(value);
      return nothing === '' ? '' : lead + nothing;
    };
  };
  const list = (values: readonly Value[], at: (i: number) => ReturnType<typeof part>): string =>
    values.map((value, i) => at(i)(value, i === 0 ? '' : ' ')).join(',');
  switch (type.kind) {
    case 'array': {
      const element = part(type.element);
      return (value) => `[${list(value as readonly Value[], () => element)}]`;
    }
    case 'struct': {
      const fields = type.fields.map((field) => part(field.type));
      return (value) => `{${list(value as readonly Value[], (i) => fields[i] ?? String)}}`;
    }
    case 'map': {
      const key = part(type.key);
      const item = part(type.value);
      return (value) => {
        const entries = (value as MapValue).entries.map(
          ([k, v], i) => `${key(k, i === 0 ? '' : ' ')} ->${item(v, ' ')}`,
        );
        return `{${entries.join(',')}}`;
      };
    }
  }
}

/** Without a quote nothing is left out: the character zero stands for it. */
function quoteOf(options: Options): string {
  const given = options.get('quote');
  return given === '' ? '\0' : (given?.charAt(0) ?? '"');
}

/** Quotes what would not be read back as it is. */
function fieldWriter(options: Options): (text: string | null) => string {
  const separator = separatorOf(options);
  const quote = quoteOf(options);
  const escaping = options.get('escape') ?? '\\';
  const comment = options.get('comment');
  const quotesAll = flag(options, 'quoteall');
  const trimsStart = options.get('ignoreleadingwhitespace')?.toLowerCase() !== 'false';
  const trimsEnd = options.get('ignoretrailingwhitespace')?.toLowerCase() !== 'false';
  const escapesQuotes = options.get('escapequotes')?.toLowerCase() !== 'false';
  return (given) => {
    if (given === null) {
      const nothing = options.get('nullvalue') ?? '';
      return quotesAll ? `${quote}${nothing}${quote}` : nothing;
    }
    if (given === '') return options.get('emptyvalue') ?? '""';
    let text = given;
    if (trimsStart) text = text.replace(/^[\0-\x20]+/, '');
    if (trimsEnd) text = text.replace(/[\0-\x20]+$/, '');
    const needsQuotes =
      quotesAll ||
      text.includes(separator) ||
      /[\r\n]/.test(text) ||
      (escapesQuotes ? text.includes(quote) : text.startsWith(quote)) ||
      (comment !== undefined && comment !== '' && text.startsWith(comment));
    if (!needsQuotes) return text;
    const escaped = escaping === quote ? text : text.replaceAll(escaping, escaping + escaping);
    return `${quote}${escaped.replaceAll(quote, `${escaping}${quote}`)}${quote}`;
  };
}

// ---------------------------------------------------------------- schema_of_csv

function schemaOfCsv(c: FunctionCall): Expression {
  const options = optionsOf(c, 1);
  const line = coerceArgument(c.name, argumentAt(c, 0), 0, exactly(parameter.string));
  const given = argumentAt(c, 0);
  if (!isConstant(given)) {
    throw mismatch('NON_FOLDABLE_INPUT', 'the csv of schema_of_csv must be constant', given.place);
  }
  if (constantValue(given, c.timeZone) === null) {
    throw mismatch('UNEXPECTED_NULL', 'the csv of schema_of_csv is NULL', given.place);
  }
  return call(
    {
      name: `schema_of_csv(${JSON.stringify([...options])})`,
      deterministic: true,
      compile: ([arg = () => null], context) => {
        const formats = formatsOf(options, recordZone(options, context.timeZone));
        return (row, frame) => {
          const fields = csvFields(String(arg(row, frame)), formatOf(options)) ?? [];
          const columns = fields.map(({ text }, i) => {
            const type = fieldType(text, options, formats);
            return `_c${i}: ${formatType(type).toUpperCase()}`;
          });
          return `STRUCT<${columns.join(', ')}>`;
        };
      },
    },
    types.string,
    [line],
    c.place,
  );
}

function fieldType(
  text: string,
  options: Options,
  formats: ReturnType<typeof formatsOf>,
): DataType {
  if (text === (options.get('nullvalue') ?? '')) return types.string;
  if (/^[+-]?\d+$/.test(text)) {
    const value = BigInt(text.replace('+', ''));
    if (BigInt.asIntN(32, value) === value) return types.int;
    if (BigInt.asIntN(64, value) === value) return types.bigint;
    const digits = String(value < 0n ? -value : value).length;
    return digits <= decimalPrecisionMax ? decimal(digits, 0) : types.double;
  }
  if (csvConverter(types.double, formats, namesOf(options))?.(text) !== undefined)
    return types.double;
  const prefersDate = options.get('preferdate')?.toLowerCase() !== 'false';
  const isDate =
    formats.date === undefined
      ? /^\d{4,}-\d{1,2}-\d{1,2}$/.test(text) && parseDate(text) !== undefined
      : formats.date(text) !== undefined;
  if (prefersDate && isDate) return types.date;
  const isTimestamp =
    formats.timestamp === undefined
      ? /^\d{4}-/.test(text) && parseTimestamp(text) !== undefined
      : formats.timestamp(text) !== undefined;
  if (isTimestamp) return types.timestamp;
  if (/^\d{1,2}:\d{2}/.test(text) && parseTime(text) !== undefined)
    return { kind: 'time', precision: 6 };
  return /^(?:true|false)$/i.test(text) ? types.boolean : types.string;
}
