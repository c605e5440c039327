import { nearestNames } from '../../base/nearest-name.ts';
import { decimalPrecisionMax } from '../../data/decimal.ts';
import type { DataType, DayTimeField, SimpleKind, YearMonthField } from '../../data/types.ts';
import { fault } from '../../expr/faults.ts';
import type { TypeNode } from '../../sql/ast.ts';

/** The data type that a written type means. Names are those of Spark, in any case. */
export function resolveType(node: TypeNode): DataType {
  switch (node.node) {
    case 'array':
      return { kind: 'array', element: resolveType(node.element) };
    case 'map':
      return { kind: 'map', key: resolveType(node.key), value: resolveType(node.value) };
    case 'struct':
      return {
        kind: 'struct',
        fields: node.fields.map((field) => ({
          name: field.name.text,
          type: resolveType(field.type),
        })),
      };
    case 'interval_type':
      return resolveInterval(node);
    case 'simple':
      return resolveSimple(node);
  }
}

const simpleNames: Readonly<Record<string, SimpleKind>> = {
  void: 'void',
  boolean: 'boolean',
  bool: 'boolean',
  tinyint: 'tinyint',
  byte: 'tinyint',
  smallint: 'smallint',
  short: 'smallint',
  int: 'int',
  integer: 'int',
  bigint: 'bigint',
  long: 'bigint',
  float: 'float',
  real: 'float',
  double: 'double',
  string: 'string',
  binary: 'binary',
  date: 'date',
  timestamp: 'timestamp',
  timestamp_ltz: 'timestamp',
  timestamp_ntz: 'timestamp_ntz',
  interval: 'interval',
  variant: 'variant',
};

const typeNames = [
  ...Object.keys(simpleNames),
  ...['decimal', 'varchar', 'char', 'time', 'array', 'map', 'struct'],
];

/** What other databases call a type, and what to write here. */
const otherNames: readonly (readonly [readonly string[], string])[] = [
  [
    ['datetime', 'datetime2', 'smalldatetime'],
    'TIMESTAMP, or TIMESTAMP_NTZ for a time without a zone',
  ],
  [['timestamptz', 'timestamp_tz', 'datetimeoffset'], 'TIMESTAMP, which is an instant'],
  [['timestamp_s', 'timestamp_ms', 'timestamp_us', 'timestamp_ns'], 'TIMESTAMP'],
  [
    [
      'text',
      'tinytext',
      'mediumtext',
      'longtext',
      'varchar2',
      'nvarchar',
      'nvarchar2',
      'nchar',
      'clob',
      'nclob',
      'ntext',
      'bpchar',
      'uuid',
      'uniqueidentifier',
      'enum',
      'xml',
      'utf8',
    ],
    'STRING',
  ],
  [['json', 'jsonb', 'object', 'any'], 'VARIANT, or STRUCT<…> where the members are known'],
  [
    ['number', 'bignumeric', 'bigdecimal', 'money', 'smallmoney'],
    'DECIMAL(p, s), which has at most 38 digits',
  ],
  [['int64', 'int8', 'uint32', 'bigserial', 'serial8'], 'BIGINT'],
  [['int32', 'int4', 'uint16', 'mediumint', 'serial'], 'INT'],
  [['int16', 'int2', 'uint8', 'smallserial'], 'SMALLINT'],
  [['uint64', 'hugeint'], 'DECIMAL(20, 0)'],
  [['float64', 'float8', 'binary_double'], 'DOUBLE'],
  [['float32', 'float4', 'binary_float'], 'FLOAT'],
  [['bit', 'logical'], 'BOOLEAN'],
  [['bytes', 'bytea', 'blob', 'varbinary', 'image', 'raw', 'longblob'], 'BINARY'],
  [['list', 'repeated'], 'ARRAY<…>'],
  [['record', 'row'], 'STRUCT<name: TYPE, …>'],
];

type SimpleNode = Extract<TypeNode, { node: 'simple' }>;

function resolveSimple(node: SimpleNode): DataType {
  const name = node.name.toLowerCase();
  const kind = simpleNames[name];
  if (kind !== undefined && node.parameters.length === 0) return { kind };
  switch (name) {
    case 'decimal':
    case 'dec':
    case 'numeric':
      if (node.parameters.length > 2) break;
      return resolveDecimal(node);
    case 'varchar':
    case 'char':
    case 'character':
      if ((node.parameters[0] ?? 0) > intMost) throw sizeOutOfRange(node);
      if (node.parameters.length === 1) return { kind: 'string' };
      throw fault('DATATYPE_MISSING_SIZE', `${name} needs a length`, node.place);
    case 'time': {
      const [precision = 6] = node.parameters;
      if (precision > 9) {
        const message = `a time has at most 9 digits of a second, not ${precision}`;
        throw fault('UNSUPPORTED_TIME_PRECISION', message, node.place);
      }
      if (node.parameters.length > 1) break;
      return { kind: 'time', precision };
    }
    default:
      break;
  }
  const size = node.parameters.length === 0 ? '' : `(${node.parameters.join(', ')})`;
  const other = kind === undefined ? otherNames.find(([names]) => names.includes(name)) : undefined;
  const [near] = nearestNames(name, kind === undefined ? typeNames : []);
  throw fault(
    'UNSUPPORTED_DATATYPE',
    `there is no type ${node.name}${size}`,
    node.place,
    other !== undefined
      ? `Write ${other[1]}.`
      : near === undefined
        ? undefined
        : `Did you mean ${near.toUpperCase()}?`,
  );
}

const intMost = 2_147_483_647;

function sizeOutOfRange({ name, place }: SimpleNode): Error {
  return fault(
    'DATATYPE_PARAMETER_VALUE_OUT_OF_RANGE',
    `the size of ${name} is out of range`,
    place,
  );
}

function resolveDecimal(node: SimpleNode): DataType {
  const [precision = 10, scale = 0] = node.parameters;
  if (scale > intMost) throw sizeOutOfRange(node);
  if (scale > precision) {
    throw fault(
      'DECIMAL_SCALE_EXCEEDS_PRECISION',
      `a decimal of ${precision} digits can't have ${scale} behind the point`,
      node.place,
    );
  }
  if (precision > decimalPrecisionMax) {
    throw fault(
      'DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION',
      `a decimal has at most ${decimalPrecisionMax} digits, not ${precision}`,
      node.place,
    );
  }
  return { kind: 'decimal', precision, scale };
}

const yearMonthFields: readonly string[] = ['year', 'month'];
const dayTimeFields: readonly string[] = ['day', 'hour', 'minute', 'second'];

function resolveInterval(node: Extract<TypeNode, { node: 'interval_type' }>): DataType {
  if (node.from === undefined) return { kind: 'interval' };
  const from = node.from;
  const to = node.to ?? from;
  if (isOrdered(yearMonthFields, from, to)) {
    return {
      kind: 'interval_year_month',
      from: from as YearMonthField,
      to: to as YearMonthField,
    };
  }
  if (isOrdered(dayTimeFields, from, to)) {
    return { kind: 'interval_day_time', from: from as DayTimeField, to: to as DayTimeField };
  }
  throw fault(
    'UNSUPPORTED_DATATYPE',
    `there is no type INTERVAL ${from.toUpperCase()} TO ${to.toUpperCase()}`,
    node.place,
  );
}

function isOrdered(fields: readonly string[], from: string, to: string): boolean {
  const first = fields.indexOf(from);
  return first >= 0 && fields.indexOf(to) >= first;
}
