import { FaultError, type Place } from '../../base/place.ts';
import { formatType } from '../../data/type-text.ts';
import type { CallExpression, Identifier } from '../../sql/ast.ts';
import { indexLevels, indexLevelsMax } from '../batch/index-levels.ts';
import { type FaultList, notSupportedYet, planFault } from '../faults.ts';
import { checkRowExpression, functionName, generatorOf } from '../flows/row-rules.ts';
import { type BoundRelation, generatedColumns, withStep } from '../relation.ts';
import type { BindContext } from './bind-context.ts';
import { bindRow } from './bind-row.ts';
import type { BoundColumn } from './bound-column.ts';

export type GeneratorCall = {
  readonly call: CallExpression;
  readonly relation: BoundRelation;
  /** OUTER was written outside the call. */
  readonly outer: boolean;
  /** Names for the new columns; none for the names of their own. */
  readonly names: readonly Identifier[];
  readonly qualifier: readonly string[];
  readonly context: BindContext;
};

export type BoundGenerator = {
  /** The relation with the new columns at its end. */
  readonly relation: BoundRelation;
  readonly columns: readonly BoundColumn[];
};

/** Adds the step of EXPLODE, POSEXPLODE or INLINE to a relation; undefined when it has a fault. */
export function bindGenerator(generator: GeneratorCall): BoundGenerator | undefined {
  const { call, relation, context } = generator;
  const { faults } = context;
  const kind = generatorOf(call);
  const name = functionName(call);
  if (kind === undefined || kind === 'later') {
    faults.add(notSupportedYet(`the generator ${name}`, call.place));
    return undefined;
  }
  const clause = { clause: `the argument of ${name}`, allowsGenerator: false, hasWatermark: false };
  const [argument] = call.arguments;
  if (argument === undefined || call.arguments.length !== 1 || call.named.length > 0) {
    const given = call.arguments.length + call.named.length;
    const message = `${name} takes one argument, not ${given}`;
    faults.add({
      severity: 'error',
      code: 'WRONG_NUM_ARGS.WITHOUT_SUGGESTION',
      message,
      place: call.place,
    });
    return undefined;
  }
  if (!checkRowExpression(argument, clause, faults)) return undefined;
  const value = bindRow(argument, { columns: relation.columns, aliases: [] }, context);
  if (value === undefined) return undefined;
  const made = faults.attempt(() => {
    const columns = generatedColumns(kind.form, value.type);
    if (columns !== undefined) return columns;
    const wanted = kind.form === 'inline' ? 'an array of structs' : 'an array or a map';
    throw new FaultError({
      severity: 'error',
      code: 'DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE',
      message: `${name} takes ${wanted}, not ${formatType(value.type)}`,
      place: argument.place,
    });
  });
  if (made === undefined) return undefined;
  const [firstName] = generator.names;
  if (firstName !== undefined && generator.names.length !== made.length) {
    const message = `${name} gives ${made.length} columns, and the alias names ${generator.names.length}`;
    const hint = `Write AS (${made.map((column) => column.name).join(', ')}).`;
    faults.add(planFault('ALIAS_COLUMNS', message, firstName.place, { hint }));
    return undefined;
  }
  const named = made.map((column, i) => ({
    ...column,
    name: generator.names[i]?.text ?? column.name,
  }));
  const columns = named.map(
    ({ name: columnName, type }, i): BoundColumn => ({
      name: columnName,
      type,
      index: relation.width + i,
      qualifier: generator.qualifier,
      hidden: false,
      broken: false,
      place: generator.names[i]?.place ?? call.place,
    }),
  );
  const stepped = withStep(relation, {
    step: 'explode',
    value,
    form: kind.form,
    outer: kind.outer || generator.outer,
    columns: named,
  });
  if (!checkIndexLevels(stepped, call.place, faults)) return undefined;
  return {
    columns,
    relation: {
      ...stepped,
      width: relation.width + columns.length,
      columns: [...relation.columns, ...columns],
    },
  };
}

/** Each generator and each run of joins numbers its rows; the provenance of a row has room for so many. */
export function checkIndexLevels(
  relation: BoundRelation,
  place: Place,
  faults: FaultList,
): boolean {
  if (relation.branches.every(({ steps }) => indexLevels(steps) <= indexLevelsMax)) return true;
  const message = `a query can have ${indexLevelsMax} generators at most, joins counted`;
  const hint =
    'Explode the first array into a table of its own, or transform the inner arrays with transform or flatten.';
  faults.add(planFault('GENERATORS_NESTED', message, place, { hint }));
  return false;
}
