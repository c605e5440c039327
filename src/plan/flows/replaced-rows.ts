import type { Place } from '../../base/place.ts';
import type { Expression } from '../../expr/expression.ts';
import { sameExpression } from '../bind/same-expression.ts';
import type { FlowDeclaration, TableDataset } from '../catalog.ts';
import { type FaultList, notSupportedYet, planFault } from '../faults.ts';
import { outputModeOf } from '../output-mode.ts';
import type { ReplacedSource } from '../pipeline-plan.ts';
import type { BoundBranch, BoundRelation } from '../relation.ts';
import { atEnd, overSource } from '../upstream.ts';

/** Of a flow that was bound (`replace-flow.ts`). */
type ReplacingFlow = {
  readonly table: TableDataset;
  readonly keys: readonly number[];
  readonly sequence: Expression | undefined;
  readonly relation: BoundRelation;
  readonly declaration: FlowDeclaration;
};

/** How the table of a REPLACE USING flow is written; undefined where the flow has a fault. */
export function replacedSource({
  declaration,
  table,
  keys,
  sequence,
  relation,
}: ReplacingFlow): ReplacedSource | undefined {
  if (sequence === undefined) return undefined;
  return {
    flow: declaration.name,
    output: outputModeOf(table),
    keys,
    sequence,
    distinct: relation.distinct !== undefined,
  };
}

type VersionedFlow = {
  readonly relation: BoundRelation;
  /** undefined: they have a fault. */
  readonly keys: readonly number[] | undefined;
  readonly sequence: Expression | undefined;
  readonly place: Place;
};

/**
 * Checks a REPLACE USING flow that streams tables whose rows are replaced, and gives for each branch which columns of its
 * source are the keys of the flow; undefined of a branch that reads something else. Invariant: what the flow makes of a
 * key depends on the last version of that key only, since each version of a key meets those before it under the same
 * key and sequence; which of them the flow has seen shows nowhere.
 */
export function versionKeys(
  { relation, keys, sequence, place }: VersionedFlow,
  faults: FaultList,
): readonly (readonly number[] | undefined)[] {
  return relation.branches.map((branch) => {
    const { replaced, table } = branch.source;
    if (replaced === undefined || table === undefined) return undefined;
    checkWhole(table, replaced, { relation, place }, faults);
    checkVersionSequence(table, replaced, { branch, sequence }, faults);
    return keysOf(table, replaced, { branch, keys, place }, faults);
  });
}

/** What counts or compares rows of several versions. */
function checkWhole(
  table: string,
  replaced: ReplacedSource,
  { relation: { distinct, limit }, place }: Pick<VersionedFlow, 'relation' | 'place'>,
  faults: FaultList,
): void {
  if (limit !== undefined) {
    const hint = 'Read it in a materialized view with LIMIT.';
    faults.add(
      notSupportedYet(`LIMIT over table "${table}", whose rows are replaced,`, limit.place, hint),
    );
  }
  if (!replaced.distinct || distinct !== undefined) return;
  const what = `a flow without DISTINCT over table "${table}", whose flow has DISTINCT,`;
  const hint = 'Write SELECT DISTINCT here, too.';
  faults.add(notSupportedYet(what, place, hint));
}

function keysOf(
  table: string,
  replaced: ReplacedSource,
  { branch, keys, place }: Pick<VersionedFlow, 'keys' | 'place'> & { readonly branch: BoundBranch },
  faults: FaultList,
): readonly number[] | undefined {
  if (keys === undefined) return undefined;
  const last = branch.steps.at(-1);
  const columns = keys.map((position) => {
    const value = last?.step === 'project' ? last.columns[position]?.value : undefined;
    if (value === undefined) return undefined;
    const before = { source: branch.source, steps: branch.steps.slice(0, -1) };
    const found = overSource(atEnd(before, value));
    return found?.node === 'column' ? found.index : undefined;
  });
  const isSame =
    columns.length === replaced.keys.length && replaced.keys.every((key) => columns.includes(key));
  if (isSame) return columns.flatMap((column) => column ?? []);
  const names = replaced.keys.map((key) => branch.source.columns[key]?.name ?? '').join(', ');
  const isWider =
    columns.length > replaced.keys.length && replaced.keys.every((key) => columns.includes(key));
  faults.add(
    planFault(
      'REPLACED_KEYS',
      `table "${table}" has its rows replaced by (${names}), and this flow does not`,
      place,
      {
        detail: isWider
          ? 'Rows that a version of a key no longer has would stay under the further key columns if the flow happened to see the version that had them, and not be there if it did not.'
          : 'Whether a row of an earlier version is still there would depend on which versions of a key the flow happened to see.',
        hint: `Write REPLACE USING (${names}) with these columns of the table as they are, or use a materialized view over "${table}".`,
      },
    ),
  );
  return undefined;
}

function checkVersionSequence(
  table: string,
  replaced: ReplacedSource,
  { branch, sequence }: { readonly branch: BoundBranch; readonly sequence: Expression | undefined },
  faults: FaultList,
): void {
  if (sequence === undefined) return;
  const found = overSource(atEnd(branch, sequence));
  if (found !== undefined && sameExpression(found, replaced.sequence)) return;
  faults.add(
    planFault('REPLACED_SEQUENCE', `the sequence is not that of table "${table}"`, sequence.place, {
      detail:
        'The versions of a key would be ordered otherwise than in the table, so that one which the table has replaced could win.',
      hint: `Select the columns of SEQUENCE BY of "${table}" as they are and write SEQUENCE BY with them, or use a materialized view over "${table}".`,
    }),
  );
}
