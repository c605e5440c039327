import type { FlowChange, ReasonId } from './flow-change.ts';

/** What is there contradicts keys, order or place of new rows: nothing but another topic can take both. */
const needsOtherTopic: readonly ReasonId[] = ['FR-13', 'FR-19', 'FR-28', 'FL-21'];

/** FR-17: a column that changes is better left alone. */
const columnReasons: readonly ReasonId[] = ['FR-12', 'FR-14', 'FR-15', 'FR-16'];

/** The flow that is refused, and what it writes. */
type WrittenBy = {
  readonly flow: string;
  readonly table: string;
  readonly kind?: string;
  readonly isSink?: boolean;
  /** Whether a flow of another name and the present definition could take the table over. */
  readonly canBeSucceeded?: boolean;
  /** What keeps the topic of the table from taking the new records, however it is refreshed; absent: nothing. */
  readonly otherForm?: OtherForm | undefined;
};

/** `mode`: they have record keys of another kind. `partitions`: the topic has another number of partitions than is declared. */
export type OtherForm = 'mode' | 'partitions';

/**
 * What can be done instead of going on from a checkpoint of another definition, the best first; whole sentences.
 * Invariant: nothing that would mix two definitions in one topic is offered.
 */
export function alternatives(
  changes: readonly FlowChange[],
  { flow, table, kind, isSink, canBeSucceeded = true, otherForm }: WrittenBy,
): readonly string[] {
  // What a sink has is with its readers already: nothing of it is computed anew, and reading on is what is left.
  if (isSink === true) {
    return [
      'Restore the definition',
      `or give the flow a new name, and before it runs have it read on from here: tidemark checkpoint reset NEW_NAME --to latest --allow-loss, while no instance runs (records that flow "${flow}" has not read yet are then never written to the sink; --to with offsets of tidemark checkpoint show ${flow} reads them, too)`,
      `or let the flow of the new name read its sources from the beginning, which writes what sink "${table}" has once more`,
    ];
  }
  if (otherForm !== undefined) return ['Restore the definition', ...ofOtherForm(table, otherForm)];
  const reasons = changes.flatMap(({ id, effect }) => (effect === 'refresh' ? [id] : []));
  // A flow that works for another one is refreshed with what reads it; what a join keeps is only ever emptied.
  const isHelping = kind === 'join' || kind === 'sift';
  const isInPlace = kind === 'join' || reasons.some((id) => needsOtherTopic.includes(id));
  const how = `${isHelping ? ' --cascade' : ''}${isInPlace ? ' --in-place' : ''}`;
  const offered = [
    'Restore the definition',
    `or refresh the table fully (tidemark refresh ${table}${how}; tidemark refresh ${table}${isHelping ? ' --cascade' : ''} --plan tells first what that would lose)`,
    newTable,
  ];
  if (kind === 'append' && reasons.includes('FR-20')) {
    offered.splice(
      1,
      0,
      `or leave it as it was and read a further source with a flow of its own (CREATE FLOW … AS INSERT INTO ${table} BY NAME SELECT …): a table takes any number of append flows, and neither its rows nor the other checkpoints are touched`,
    );
  }
  const isOfForm = reasons.includes('FR-14') || reasons.includes('FR-15');
  const isMerging = !isHelping && kind !== 'append' && canBeSucceeded;
  if (isMerging && !isOfForm && !reasons.some((id) => needsOtherTopic.includes(id))) {
    offered.push(
      `or give the flow a new name: it keeps the rows and reads its sources from the beginning, which merges into them (flow "${flow}" is then gone)`,
    );
  }
  if (reasons.includes('FR-12')) {
    offered.push(
      'or let it be renamed where it is read: an alias keeps the name that the rows have (SELECT … AS …) in the flow, and a view gives readers the new one, so that nothing is computed again',
    );
  }
  if (reasons.some((id) => columnReasons.includes(id))) {
    offered.push('or keep the column as it was, add a new one beside it, and unite both in a view');
  }
  return offered;
}

const newTable =
  "or make a new table with a topic and a flow of its own beside it (WITH (topic = '…')), and let readers unite both";

/** The rows that are there stay where they are: the new ones go elsewhere. */
function ofOtherForm(table: string, otherForm: OtherForm): readonly string[] {
  return [`or ${moveTo(table, otherForm)}`, newTable];
}

/** How a table goes on in another topic, as part of a sentence. */
export function moveTo(table: string, otherForm: OtherForm): string {
  return otherForm === 'mode'
    ? `give the table another topic (WITH (topic = '…')) and let the next run fill that: tidemark refresh ${table} --in-place, which leaves the former topic as it is`
    : "give the table another topic, which gets as many partitions as are declared, and its flow a new name (WITH (topic = '…'), CREATE FLOW …): it fills that from its sources, and the former topic stays as it is";
}

/** What can be done where a flow of another name can't go on from the rows that one wrote which is gone. */
export function successionAlternatives(
  writer: string,
  table: string,
  isOfOtherForm: boolean,
): readonly string[] {
  return [
    "Give the table a topic of its own (WITH (topic = '…')), and let readers unite both",
    ...(isOfOtherForm
      ? []
      : [
          `or leave the flow its name "${writer}" and refresh the table fully (tidemark refresh ${table} --in-place; tidemark refresh ${table} --plan tells first what that would lose)`,
        ]),
  ];
}
