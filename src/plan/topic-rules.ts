import type { Place } from '../base/place.ts';
import { topicNameFault } from './bind/names.ts';
import { type Catalog, isTarget, nounOf } from './catalog.ts';
import { type FaultList, planFault } from './faults.ts';
import type { Given } from './options.ts';
import type { SourcePlan } from './pipeline-plan.ts';
import type { StageRows } from './stage-names.ts';

/** The topic of a source or table: the one that it names, else its own name. */
export function topicOf(
  name: string,
  given: Given<string> | undefined,
  place: Place,
  faults: FaultList,
): string {
  if (given !== undefined) return given.value;
  const reason = topicNameFault(name);
  if (reason !== undefined) {
    faults.add(
      planFault('TOPIC_NAME_INVALID', `"${name}" cannot be the name of a topic`, place, {
        detail: `Kafka refuses it: ${reason}.`,
        hint: "Give the topic a name of its own: WITH (topic = '…').",
      }),
    );
  }
  return name;
}

/** No two tables write one topic, and none writes what a source reads or what stands between the stages of a flow. */
export function checkTopics(
  catalog: Catalog,
  {
    sources,
    stageRows,
  }: { readonly sources: readonly SourcePlan[]; readonly stageRows: readonly StageRows[] },
  faults: FaultList,
): void {
  const owners = new Map(sources.map(({ name, topic }) => [topic, `source "${name}" reads`]));
  const claim = (topic: string, deed: string, place: Place): void => {
    const before = owners.get(topic);
    if (before === undefined) {
      owners.set(topic, deed);
      return;
    }
    faults.add(
      planFault('TOPIC_TAKEN', `${deed} topic "${topic}", which ${before} too`, place, {
        hint: "Give one of them another topic: WITH (topic = '…').",
      }),
    );
  };
  for (const { flow, source } of stageRows) {
    claim(source.topic, `what stands before flow "${flow.name}" goes to`, flow.place);
  }
  const tables = [...catalog.datasets].filter(isTarget);
  const views = [...catalog.datasets].filter((one) => one.kind === 'materialized view');
  for (const table of [...tables, ...views]) {
    claim(table.topic, `${nounOf(table)} "${table.name}" writes`, table.place);
  }
  for (const table of tables) {
    const letters = table.options.text('dead_letter_topic');
    if (letters === undefined || !owners.has(letters.value)) continue;
    claim(letters.value, `the dead letters of "${table.name}" go to`, letters.place);
  }
}
