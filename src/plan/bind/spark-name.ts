import { formatDouble } from '../../data/double-text.ts';
import type { CallExpression, Expression, OrderItem, TypeNode, WindowSpec } from '../../sql/ast.ts';
import { autoName } from './auto-name.ts';
import { functionName } from './bind-call.ts';

/**
 * The name that Spark gives a column without an alias: its expression, printed without quotes and with
 * every operation in parentheses.
 */
export function sparkName(expression: Expression): string {
  if (expression.node === 'path') return lastName(expression.path);
  if (expression.node === 'cast' && expression.value.node === 'path') {
    return lastName(expression.value.path);
  }
  if (expression.node === 'call' && windowNames.has(functionName(expression))) {
    return functionName(expression);
  }
  return autoName(expression) ?? text(expression, new Set());
}

const windowNames: ReadonlySet<string> = new Set(['window', 'session_window']);

/** `b` of the path `a.b[0]`. */
function lastName(path: string): string {
  const names = path.match(/`[^`]+`|'[^']*'|"[^"]*"|[^.[\]'"`]+(?=\.|\[|$)/g) ?? [path];
  return (names.at(-1) ?? path).replace(/^[`'"]|[`'"]$/g, '');
}

/** Names of the parameters of the lambdas around. */
type Parameters = ReadonlySet<string>;

function list(nodes: readonly Expression[], parameters: Parameters): string {
  return nodes.map((node) => text(node, parameters)).join(', ');
}

function text(node: Expression, parameters: Parameters): string {
  const part = (inner: Expression): string => text(inner, parameters);
  switch (node.node) {
    case 'null':
      return 'NULL';
    case 'boolean':
      return String(node.value);
    case 'number':
      return numberText(node.text, node.suffix);
    case 'string':
      return node.value;
    case 'typed':
      return typedText(node.type, node.text);
    case 'column':
      return columnText(node, parameters);
    case 'star':
      return '*';
    case 'alias':
      return `${part(node.value)} AS ${node.name.text}`;
    case 'unary':
      return unaryText(node, parameters);
    case 'binary':
      return binaryText(node, parameters);
    case 'between': {
      const inside = `between(${part(node.value)}, ${part(node.low)}, ${part(node.high)})`;
      return node.negated ? `(NOT ${inside})` : inside;
    }
    case 'in': {
      const inside = `(${part(node.value)} IN (${list(node.list, parameters)}))`;
      return node.negated ? `(NOT ${inside})` : inside;
    }
    case 'in_query': {
      const inside = `(${part(node.value)} IN (listquery()))`;
      return node.negated ? `(NOT ${inside})` : inside;
    }
    case 'exists':
      return 'exists()';
    case 'scalar_query':
      return 'scalarsubquery()';
    case 'is':
      return isText(node, parameters);
    case 'is_distinct': {
      const same = `(${part(node.left)} <=> ${part(node.right)})`;
      return node.negated ? same : `(NOT ${same})`;
    }
    case 'like':
      return likeText(node, parameters);
    case 'case':
      return caseText(node, parameters);
    case 'cast': {
      const word = node.isTry ? 'TRY_CAST' : 'CAST';
      return `${word}(${part(node.value)} AS ${typeText(node.type)})`;
    }
    case 'call':
      return callText(node, parameters);
    case 'lambda': {
      const inner = new Set([
        ...parameters,
        ...node.parameters.map((one) => one.text.toLowerCase()),
      ]);
      const names = node.parameters.map(() => 'namedlambdavariable()');
      return `lambdafunction(${[text(node.body, inner), ...names].join(', ')})`;
    }
    case 'field':
      return `${part(node.value)}.${node.field.text}`;
    case 'subscript':
      return `${part(node.value)}[${part(node.index)}]`;
    case 'path':
      return `variant_get(${part(node.value)}, $.${node.path})`;
    case 'extract':
      return `extract(${node.field.text} FROM ${part(node.value)})`;
    case 'trim':
      return trimText(node, parameters);
    case 'collate':
      return `collate(${part(node.value)}, ${node.collation.parts.map((one) => one.text).join('.')})`;
    case 'tuple':
      return `struct(${list(node.items, parameters)})`;
    case 'interval':
      return `INTERVAL ${node.units.map(({ value, unit }) => `'${part(value)}' ${unit.toUpperCase()}`).join(' ')}`;
    case 'interval_range':
      return `INTERVAL '${node.negative ? '-' : ''}${node.text}' ${node.from.toUpperCase()} TO ${node.to.toUpperCase()}`;
  }
}

function numberText(digits: string, suffix: string): string {
  const isDouble = suffix === 'D' || suffix === 'F' || (suffix === '' && /e/i.test(digits));
  if (isDouble) return formatDouble(Number(digits));
  return digits.startsWith('.') ? `0${digits}` : digits;
}

function typedText(type: string, value: string): string {
  switch (type) {
    case 'x':
      return `X'${value.toUpperCase()}'`;
    case 'interval':
      return `INTERVAL ${value}`;
    default:
      return `${type.toUpperCase().replace('TIMESTAMP_LTZ', 'TIMESTAMP')} '${value}'`;
  }
}

function columnText(node: Extract<Expression, { node: 'column' }>, parameters: Parameters): string {
  const parts = node.name.parts.map((one) => one.text);
  const [first = '', ...rest] = parts;
  if (parameters.has(first.toLowerCase())) return ['namedlambdavariable()', ...rest].join('.');
  return parts.at(-1) ?? '';
}

function unaryText(node: Extract<Expression, { node: 'unary' }>, parameters: Parameters): string {
  const operand = text(node.operand, parameters);
  switch (node.operator) {
    case 'not':
      return `(NOT ${operand})`;
    case '~':
      return `~${operand}`;
    case '+':
      return `(+ ${operand})`;
    case '-':
      return node.operand.node === 'number' ? `-${operand}` : `(- ${operand})`;
  }
}

function binaryText(node: Extract<Expression, { node: 'binary' }>, parameters: Parameters): string {
  const [left, right] = [text(node.left, parameters), text(node.right, parameters)];
  switch (node.operator) {
    case '||':
      return `concat(${left}, ${right})`;
    case '<>':
      return `(NOT (${left} = ${right}))`;
    case 'and':
    case 'or':
      return `(${left} ${node.operator.toUpperCase()} ${right})`;
    default:
      return `(${left} ${node.operator} ${right})`;
  }
}

function isText(node: Extract<Expression, { node: 'is' }>, parameters: Parameters): string {
  const value = text(node.value, parameters);
  switch (node.test) {
    case 'null':
    case 'unknown':
      return `(${value} IS ${node.negated ? 'NOT ' : ''}NULL)`;
    default: {
      const same = `(${value} <=> ${node.test})`;
      return node.negated ? `(NOT ${same})` : same;
    }
  }
}

function likeText(node: Extract<Expression, { node: 'like' }>, parameters: Parameters): string {
  const value = text(node.value, parameters);
  const [pattern] = node.patterns;
  const shown =
    node.quantifier === undefined && pattern !== undefined
      ? node.operator === 'rlike'
        ? `RLIKE(${value}, ${text(pattern, parameters)})`
        : node.operator === 'ilike'
          ? `ilike(${value}, ${text(pattern, parameters)})`
          : `${value} LIKE ${text(pattern, parameters)}`
      : `like${node.quantifier ?? ''}(${[value, list(node.patterns, parameters)].join(', ')})`;
  const escaped =
    node.escape === undefined ? shown : `${shown} ESCAPE '${text(node.escape, parameters)}'`;
  return node.negated ? `(NOT ${escaped})` : escaped;
}

function caseText(node: Extract<Expression, { node: 'case' }>, parameters: Parameters): string {
  const branches = node.branches.map(({ when, then }) => {
    const condition = text(when, parameters);
    const shown =
      node.operand === undefined ? condition : `(${text(node.operand, parameters)} = ${condition})`;
    return ` WHEN ${shown} THEN ${text(then, parameters)}`;
  });
  const otherwise = node.otherwise === undefined ? '' : ` ELSE ${text(node.otherwise, parameters)}`;
  return `CASE${branches.join('')}${otherwise} END`;
}

function trimText(node: Extract<Expression, { node: 'trim' }>, parameters: Parameters): string {
  const value = text(node.value, parameters);
  if (node.characters === undefined) {
    return `${{ both: 'trim', leading: 'ltrim', trailing: 'rtrim' }[node.side]}(${value})`;
  }
  return `TRIM(${node.side.toUpperCase()} ${text(node.characters, parameters)} FROM ${value})`;
}

/** Values that Spark prints though nobody wrote them, by how many arguments were written. */
const defaults: Readonly<Record<string, readonly (readonly [number, readonly string[]])[]>> = {
  split: [[2, ['-1']]],
  lpad: [[2, [' ']]],
  rpad: [[2, [' ']]],
  locate: [[2, ['1']]],
  position: [[2, ['1']]],
  regexp_extract: [[2, ['1']]],
  regexp_extract_all: [[2, ['1']]],
  regexp_replace: [[3, ['1']]],
  sort_array: [[1, ['true']]],
  round: [[1, ['0']]],
  bround: [[1, ['0']]],
  listagg: [[1, ['NULL']]],
  string_agg: [[1, ['NULL']]],
  mask: [
    [1, ['X', 'x', 'n', 'NULL']],
    [2, ['x', 'n', 'NULL']],
    [3, ['n', 'NULL']],
    [4, ['NULL']],
  ],
  percentile: [[2, ['1']]],
  percentile_approx: [[2, ['10000']]],
  approx_percentile: [[2, ['10000']]],
  hmac: [[2, ['SHA-256']]],
  from_unixtime: [[1, ['yyyy-MM-dd HH:mm:ss']]],
  months_between: [[2, ['true']]],
  overlay: [[3, ['-1']]],
  substr: [[2, ['2147483647']]],
  substring: [[2, ['2147483647']]],
  str_to_map: [
    [1, [',', ':']],
    [2, [':']],
  ],
  regexp_instr: [[2, ['0']]],
  lag: [
    [1, ['1', 'NULL']],
    [2, ['NULL']],
  ],
  lead: [
    [1, ['1', 'NULL']],
    [2, ['NULL']],
  ],
  make_ym_interval: [
    [0, ['0', '0']],
    [1, ['0']],
  ],
  sentences: [
    [1, ['', '']],
    [2, ['']],
  ],
};

/** Arguments that are no values: a schema, a type, options. How many of the first ones are printed. */
const printedArguments: Readonly<Record<string, number>> = {
  from_json: 1,
  to_json: 1,
  schema_of_json: 1,
  from_csv: 1,
  to_csv: 1,
  schema_of_csv: 1,
  variant_get: 2,
  try_variant_get: 2,
  first: 1,
  last: 1,
  any_value: 1,
  first_value: 1,
  last_value: 1,
};

/** Functions that stand for others. */
const otherNames: Readonly<Record<string, string>> = {
  array_agg: 'collect_list',
  curdate: 'current_date',
  position: 'locate',
};

function callText(node: CallExpression, parameters: Parameters): string {
  const called = functionName(node);
  const name = otherNames[called] ?? called;
  if (node.arguments.length === 1) {
    const [only] = node.arguments;
    const value = only === undefined ? '' : text(only, parameters);
    if (name === 'isnull') return `(${value} IS NULL)`;
    if (name === 'isnotnull') return `(${value} IS NOT NULL)`;
    if (name === 'positive') return `(+ ${value})`;
  }
  const isCount = name === 'count' && node.arguments.length === 1;
  const printed = node.arguments.slice(0, printedArguments[name] ?? node.arguments.length);
  const written = printed.map((argument) =>
    isCount && argument.node === 'star' ? '1' : text(argument, parameters),
  );
  const added = defaults[name]?.find(([count]) => count === written.length)?.[1] ?? [];
  const args = [...written, ...node.named.map(({ value }) => text(value, parameters)), ...added];
  const shown =
    name === 'if'
      ? `(IF(${args.join(', ')}))`
      : `${specialNames[name] ?? name}(${node.distinct ? 'DISTINCT ' : ''}${args.join(', ')})`;
  const within =
    node.withinGroup === undefined
      ? ''
      : ` WITHIN GROUP (ORDER BY ${orderText(node.withinGroup, parameters, name.includes('agg'))})`;
  const filter =
    node.filter === undefined ? '' : ` FILTER (WHERE ${text(node.filter, parameters)})`;
  const over =
    node.window === undefined ? '' : ` OVER ${windowText(node.window, name, parameters)}`;
  return `${shown}${within}${filter}${over}`;
}

function orderText(items: readonly OrderItem[], parameters: Parameters, isWhole: boolean): string {
  return items
    .map(({ value, descending, nulls }) => {
      const shown = text(value, parameters);
      if (!isWhole) return `${shown}${descending ? ' DESC' : ''}`;
      const place = (nulls ?? (descending ? 'last' : 'first')).toUpperCase();
      return `${shown} ${descending ? 'DESC' : 'ASC'} NULLS ${place}`;
    })
    .join(', ');
}

const rankNames: ReadonlySet<string> = new Set([
  'row_number',
  'rank',
  'dense_rank',
  'percent_rank',
  'ntile',
]);

function windowText(spec: WindowSpec, name: string, parameters: Parameters): string {
  if (spec.reference !== undefined) return spec.reference.text;
  const parts: string[] = [];
  if (spec.partitionBy.length > 0) {
    parts.push(`PARTITION BY ${list(spec.partitionBy, parameters)}`);
  }
  if (spec.orderBy.length > 0) parts.push(`ORDER BY ${orderText(spec.orderBy, parameters, true)}`);
  const unit = rankNames.has(name) || spec.orderBy.length === 0 ? 'ROWS' : 'RANGE';
  const end =
    spec.orderBy.length === 0 && !rankNames.has(name) ? 'UNBOUNDED FOLLOWING' : 'CURRENT ROW';
  parts.push(spec.frame?.toUpperCase() ?? `${unit} BETWEEN UNBOUNDED PRECEDING AND ${end}`);
  return `(${parts.join(' ')})`;
}

const specialNames: Readonly<Record<string, string>> = {
  rank: 'RANK',
  dense_rank: 'DENSE_RANK',
  percent_rank: 'PERCENT_RANK',
  power: 'POWER',
  pow: 'pow',
  log10: 'LOG10',
  log2: 'LOG2',
  sin: 'SIN',
  cos: 'COS',
  tan: 'TAN',
  asin: 'ASIN',
  acos: 'ACOS',
  atan: 'ATAN',
  atan2: 'ATAN2',
  sinh: 'SINH',
  cosh: 'COSH',
  tanh: 'TANH',
  asinh: 'ASINH',
  acosh: 'ACOSH',
  atanh: 'ATANH',
  cot: 'COT',
  sec: 'SEC',
  csc: 'CSC',
  exp: 'EXP',
  expm1: 'EXPM1',
  log1p: 'LOG1P',
  sqrt: 'SQRT',
  cbrt: 'CBRT',
  floor: 'FLOOR',
  ceil: 'CEIL',
  ceiling: 'ceiling',
  degrees: 'DEGREES',
  radians: 'RADIANS',
  hypot: 'HYPOT',
  signum: 'SIGNUM',
  rint: 'rint',
  pi: 'PI',
  e: 'E',
  rlike: 'RLIKE',
  regexp_like: 'REGEXP_LIKE',
  regexp: 'REGEXP',
};

function typeText(type: TypeNode): string {
  switch (type.node) {
    case 'simple': {
      const name = type.name.toUpperCase();
      const known = {
        INTEGER: 'INT',
        LONG: 'BIGINT',
        SHORT: 'SMALLINT',
        BYTE: 'TINYINT',
        DEC: 'DECIMAL',
      };
      const shown = Object.hasOwn(known, name) ? known[name as keyof typeof known] : name;
      const isDecimal = shown === 'DECIMAL' || shown === 'NUMERIC';
      const [precision = 10, scale = 0] = type.parameters;
      if (isDecimal) return `DECIMAL(${precision},${scale})`;
      return type.parameters.length === 0 ? shown : `${shown}(${type.parameters.join(',')})`;
    }
    case 'array':
      return `ARRAY<${typeText(type.element)}>`;
    case 'map':
      return `MAP<${typeText(type.key)}, ${typeText(type.value)}>`;
    case 'struct':
      return `STRUCT<${type.fields.map((field) => `${field.name.text}: ${typeText(field.type)}`).join(', ')}>`;
    case 'interval_type': {
      const from = type.from === undefined ? '' : ` ${type.from.toUpperCase()}`;
      const to = type.to === undefined ? '' : ` TO ${type.to.toUpperCase()}`;
      return `INTERVAL${from}${to}`;
    }
  }
}
