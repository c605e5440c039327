import type { AutoCdc } from '../../sql/ast.ts';
import { nameHint } from '../bind/name-hint.ts';
import { nameText } from '../bind/names.ts';
import {
  type Catalog,
  type Dataset,
  type FlowDeclaration,
  nounOf,
  placeText,
  type TableDataset,
} from '../catalog.ts';
import { type FaultList, planFault, planWarning } from '../faults.ts';
import { flowNouns, kindOf } from './flow-kind.ts';
import { idleTableHint, isIdleTable } from './idle-table.ts';
import { byNameMissing, checkSequenceCount } from './replace-flow.ts';

export type TargetedFlow = {
  readonly flow: FlowDeclaration;
  /** undefined: the target is something else, or nothing, and its fault is told. */
  readonly table: TableDataset | undefined;
};

/** Finds the target of every flow and checks which flows may share one. */
export function checkTargets(catalog: Catalog, faults: FaultList): readonly TargetedFlow[] {
  const targeted: TargetedFlow[] = [];
  const written = new Set<string>();
  for (const flow of catalog.flows) {
    const target = catalog.find(flow.target);
    if (target !== undefined) written.add(target.name);
    targeted.push({
      flow,
      table: target !== undefined && mayWrite(flow, target) ? target : undefined,
    });
    if (target === undefined) faults.add(unknownTarget(flow, catalog));
    else if (!mayWrite(flow, target)) faults.add(wrongTarget(flow, nounOf(target)));
  }
  warnOfIdleSinks(catalog, written, faults);
  for (const flows of groupByTable(targeted).values()) checkSharing(flows, faults);
  return targeted;
}

function mayWrite(flow: FlowDeclaration, target: Dataset): target is TableDataset {
  return target.kind === 'table' || (target.kind === 'sink' && kindOf(flow) === 'append');
}

function warnOfIdleSinks(catalog: Catalog, written: ReadonlySet<string>, faults: FaultList): void {
  for (const dataset of catalog.datasets) {
    if (dataset.kind !== 'sink' || written.has(dataset.name)) continue;
    const message = `no flow writes sink "${dataset.name}"`;
    const hint = `Add one: CREATE FLOW … AS INSERT INTO ${dataset.name} BY NAME SELECT … .`;
    faults.add(planWarning('SINK_WITHOUT_FLOW', message, dataset.place, { hint }));
  }
}

/**
 * With columns it is one that later flows will write, or that others can look at already. Only of a pipeline without
 * errors: else its flow may be what could not be read.
 */
export function warnOfIdleTables(catalog: Catalog, faults: FaultList): void {
  for (const dataset of catalog.datasets) {
    if (dataset.kind !== 'table' || !isIdleTable(dataset, catalog)) continue;
    const message = `no flow writes table "${dataset.name}", and it has no columns`;
    const hint = idleTableHint(dataset);
    faults.add(planWarning('TABLE_WITHOUT_FLOW', message, dataset.place, { hint }));
  }
}

function unknownTarget(flow: FlowDeclaration, catalog: Catalog) {
  const name = nameText(flow.target);
  const tables = catalog.namesOf(['table']);
  const near = nameHint(name, tables, 'streaming tables');
  return planFault(
    'TARGET_UNKNOWN',
    `the target "${name}" is not created in this pipeline`,
    flow.target.place,
    {
      detail:
        'A flow writes only tables that its own pipeline creates, never a topic of somebody else.',
      hint: `${near ?? ''} Create it first: CREATE STREAMING TABLE ${name.replace(/^live\./i, '')};`.trim(),
    },
  );
}

function wrongTarget(flow: FlowDeclaration, noun: string) {
  const name = nameText(flow.target);
  return planFault(
    'TARGET_KIND',
    `the target "${name}" of ${flowNouns[kindOf(flow)]} is a ${noun}`,
    flow.target.place,
    { hint: 'A flow writes a streaming table; an append flow may write a sink too.' },
  );
}

function groupByTable(
  targeted: readonly TargetedFlow[],
): ReadonlyMap<TableDataset, readonly FlowDeclaration[]> {
  const groups = new Map<TableDataset, FlowDeclaration[]>();
  for (const { flow, table } of targeted) {
    if (table === undefined) continue;
    groups.set(table, [...(groups.get(table) ?? []), flow]);
  }
  return groups;
}

/** One REPLACE USING or REPLACE WHERE flow and nothing beside it; AUTO CDC flows only among themselves. */
function checkSharing(flows: readonly FlowDeclaration[], faults: FaultList): void {
  const using = flows.filter((flow) => kindOf(flow).startsWith('replace_using'));
  const where = flows.filter((flow) => kindOf(flow).startsWith('replace_where'));
  const replacing = using.length > 0 ? using : where;
  const changing = flows.filter((flow) => kindOf(flow).startsWith('auto_cdc'));
  const [first, ...others] = replacing;
  for (const second of first === undefined ? [] : others) {
    faults.add(secondReplaceFlow(first ?? second, second));
  }
  for (const flow of flows) {
    if (first !== undefined && !replacing.includes(flow)) {
      faults.add(mixed('FLOW_MIX', first, flow));
    } else if (first === undefined && changing[0] !== undefined && !changing.includes(flow)) {
      faults.add(mixed('CDC_MIX', changing[0], flow));
    }
  }
}

function secondReplaceFlow(first: FlowDeclaration, second: FlowDeclaration) {
  const target = nameText(second.target);
  return planFault(
    'SECOND_REPLACE_FLOW',
    `flows "${first.name}" and "${second.name}" both replace rows of "${target}"`,
    second.place,
    {
      detail: `A target has one ${clauseOf(first)} flow; "${first.name}" stands at ${placeText(first.place)}.`,
      hint: 'Unite their queries in one flow with UNION ALL.',
    },
  );
}

function clauseOf(flow: FlowDeclaration): string {
  return kindOf(flow).startsWith('replace_where') ? 'REPLACE WHERE' : 'REPLACE USING';
}

function mixed(code: 'FLOW_MIX' | 'CDC_MIX', owner: FlowDeclaration, other: FlowDeclaration) {
  const target = nameText(other.target);
  const [ownerNoun, otherNoun] = [flowNouns[kindOf(owner)], flowNouns[kindOf(other)]];
  return planFault(
    code,
    `"${target}" is written by ${ownerNoun} "${owner.name}" and by ${otherNoun} "${other.name}"`,
    other.place,
    {
      detail:
        code === 'FLOW_MIX'
          ? clauseOf(owner) === 'REPLACE USING'
            ? 'Rows of the other flow would have no sequence, so nothing would say when they are replaced.'
            : 'A REPLACE WHERE flow computes the rows that meet its condition as a whole, so those of another flow among them would go.'
          : 'A table that AUTO CDC keeps is written by AUTO CDC flows only.',
      hint: 'Give the other flow a table of its own, and unite both in a view.',
    },
  );
}

// ---------------------------------------------------------------- rules of flows that come later

/** What can be said of an AUTO CDC flow before it can run. */
export function checkAutoCdc(cdc: AutoCdc, faults: FaultList): void {
  if (cdc.keys.length === 0) {
    faults.add(
      planFault('CDC_KEYS_MISSING', 'AUTO CDC names no KEYS', cdc.place, {
        hint: 'Write KEYS (id, …) with the primary key of the rows. Where they have none, and all rows of a key are sent again, write REPLACE USING (key) instead.',
      }),
    );
  }
  checkSequenceCount(cdc.sequence, 'AUTO CDC', cdc.place, faults);
  if (cdc.scdType === 2 && cdc.truncateWhen !== undefined) {
    faults.add(
      planFault('CDC_TRUNCATE_HISTORY', 'SCD TYPE 2 cannot truncate', cdc.truncateWhen.place, {
        hint: 'Use APPLY AS DELETE WHEN, or SCD TYPE 1.',
      }),
    );
  }
  if (cdc.scdType !== 2 && cdc.trackHistory !== undefined) {
    faults.add(
      planFault('CDC_HISTORY_ONLY', 'TRACK HISTORY needs SCD TYPE 2', cdc.trackHistory.place, {
        hint: 'Add STORED AS SCD TYPE 2, or drop TRACK HISTORY.',
      }),
    );
  }
}

/** BY NAME is asked for in every flow but a table's own `AS SELECT`. */
export function checkByName(flow: FlowDeclaration, faults: FaultList): void {
  const { body } = flow;
  if (body.node === 'insert' && !body.byName && !flow.isPlainDefault) {
    const hint = `Write INSERT INTO ${nameText(flow.target)} BY NAME SELECT ….`;
    faults.add(byNameMissing(body.place, hint));
  }
}
