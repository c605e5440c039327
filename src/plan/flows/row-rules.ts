import type { Fault, Place } from '../../base/place.ts';
import type { CallExpression, Expression } from '../../sql/ast.ts';
import { expressionChildren } from '../bind/expression-children.ts';
import { nameText } from '../bind/names.ts';
import { type FaultList, notSupportedYet, planFault } from '../faults.ts';

/** Spark's aggregate functions, by every name they have. */
const aggregateNames: ReadonlySet<string> = new Set(
  `any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
  approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg
  bitmap_or_agg bool_and bool_or collect_list collect_set corr count count_if count_min_sketch
  covar_pop covar_samp every first first_value grouping grouping_id histogram_numeric hll_sketch_agg
  hll_union_agg kurtosis last last_value listagg max max_by mean median min min_by mode percentile
  percentile_approx percentile_cont percentile_disc regr_avgx regr_avgy regr_count regr_intercept
  regr_r2 regr_slope regr_sxx regr_sxy regr_syy schema_of_json_agg schema_of_variant_agg skewness
  some std stddev stddev_pop stddev_samp string_agg sum theta_sketch_agg theta_union_agg try_avg
  try_sum var_pop var_samp variance`.split(/\s+/u),
);

/** Functions that are of use with OVER only: named here so that their refusal says the right thing. */
const rankingNames: ReadonlySet<string> = new Set([
  'row_number',
  'rank',
  'dense_rank',
  'percent_rank',
  'cume_dist',
  'ntile',
  'lag',
  'lead',
  'nth_value',
]);

const timeWindowNames: ReadonlySet<string> = new Set(['window', 'session_window']);

export type GeneratorForm = {
  readonly form: 'explode' | 'posexplode' | 'inline';
  readonly outer: boolean;
};

const generators: Readonly<Record<string, GeneratorForm>> = {
  explode: { form: 'explode', outer: false },
  explode_outer: { form: 'explode', outer: true },
  posexplode: { form: 'posexplode', outer: false },
  posexplode_outer: { form: 'posexplode', outer: true },
  inline: { form: 'inline', outer: false },
  inline_outer: { form: 'inline', outer: true },
};

/** Generators of Spark's that come with a later version. */
const laterGenerators: ReadonlySet<string> = new Set([
  'stack',
  'json_tuple',
  'variant_explode',
  'variant_explode_outer',
]);

export function functionName(call: CallExpression): string {
  return nameText(call.name).toLowerCase();
}

export function isAggregate(call: CallExpression): boolean {
  return (
    aggregateNames.has(functionName(call)) ||
    call.distinct ||
    call.filter !== undefined ||
    call.withinGroup !== undefined
  );
}

/** What kind of generator a call is: a form, `later` for one that cannot run yet, or undefined. */
export function generatorOf(expression: Expression): GeneratorForm | 'later' | undefined {
  if (expression.node !== 'call') return undefined;
  const name = functionName(expression);
  if (laterGenerators.has(name)) return 'later';
  return Object.hasOwn(generators, name) ? generators[name] : undefined;
}

/** Where an expression stands, for what is said about it. */
export type RowClause = {
  readonly clause: string;
  /** A generator may be the whole expression. */
  readonly allowsGenerator: boolean;
  readonly hasWatermark: boolean;
};

/**
 * Checks that an expression looks at one row only: no aggregate, no window function, no query, no
 * generator inside. Gives false when it found a fault, so that the caller binds the others only.
 */
export function checkRowExpression(
  expression: Expression,
  clause: RowClause,
  faults: FaultList,
): boolean {
  const found = rowFault(expression, clause);
  if (found !== undefined) {
    faults.add(found);
    return false;
  }
  const inner = { ...clause, allowsGenerator: false };
  let isFine = true;
  for (const child of expressionChildren(expression)) {
    isFine = checkRowExpression(child, inner, faults) && isFine;
  }
  return isFine;
}

function rowFault(expression: Expression, clause: RowClause): Fault | undefined {
  switch (expression.node) {
    case 'exists':
    case 'in_query':
    case 'scalar_query':
      return planFault(
        'SUBQUERY_REFUSED',
        `a streaming flow cannot have a subquery in ${clause.clause}`,
        expression.place,
        {
          detail: 'The answer of the subquery would change while rows that used it stay.',
          hint: 'Join with the other data instead: FROM STREAM(a) JOIN b ON … .',
        },
      );
    case 'call':
      return callFault(expression, clause);
    default:
      return undefined;
  }
}

function callFault(call: CallExpression, clause: RowClause): Fault | undefined {
  const name = functionName(call);
  if (call.window !== undefined || rankingNames.has(name)) return windowFault(name, call.place);
  if (timeWindowNames.has(name)) return timeWindowFault(name, clause.hasWatermark, call.place);
  const generator = generatorOf(call);
  if (generator !== undefined && !clause.allowsGenerator) return strayGenerator(name, clause, call);
  if (generator === 'later') return notSupportedYet(`the generator ${name}`, call.place);
  return isAggregate(call) ? aggregateFault(name, call.place) : undefined;
}

export function aggregateFault(name: string, place: Place): Fault {
  return planFault(
    'AGGREGATE_REFUSED',
    `a streaming flow cannot have the aggregate function ${name}`,
    place,
    {
      detail:
        'An aggregate would need all rows of a group, and a stream never has seen all of them.',
      hint: 'Aggregate in a materialized view over the table: CREATE MATERIALIZED VIEW … AS SELECT … GROUP BY … .',
    },
  );
}

function windowFault(name: string, place: Place): Fault {
  return planFault(
    'WINDOW_FUNCTION_REFUSED',
    `a streaming flow cannot have the window function ${name}`,
    place,
    {
      detail: 'Which rows stand beside a row depends on how many have arrived.',
      hint: rankingNames.has(name)
        ? 'REPLACE USING keeps the rows of the highest sequence of each key already: drop the window function, or rank in a materialized view over the table.'
        : 'Compute it in a materialized view over the table.',
    },
  );
}

function timeWindowFault(name: string, hasWatermark: boolean, place: Place): Fault | undefined {
  if (hasWatermark && name !== 'session_window') return undefined;
  if (hasWatermark) return notSupportedYet(`the time window function ${name}`, place);
  return planFault('WATERMARK_MISSING', `${name} needs a watermark on its stream`, place, {
    detail: 'Without a watermark nothing says when a window is complete.',
    hint: 'Write FROM STREAM(s) WATERMARK ts DELAY OF INTERVAL 5 MINUTES, or round the time with date_trunc.',
  });
}

function strayGenerator(name: string, clause: RowClause, call: CallExpression): Fault {
  const isSelect = clause.clause === 'the select list';
  return {
    severity: 'error',
    code: isSelect
      ? 'UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS'
      : 'UNSUPPORTED_GENERATOR.OUTSIDE_SELECT',
    message: isSelect
      ? `${name} cannot stand inside another expression`
      : `${name} cannot stand in ${clause.clause}`,
    hint: isSelect
      ? `Give it a column of its own in a subquery: SELECT …, ${name}(…) AS item FROM …, and compute with that column outside.`
      : 'Give it a column in the select list of a subquery, and use that column.',
    place: call.place,
  };
}
