import { FlowError } from '../../base/errors.ts';
import type { TopicDescription } from '../../ports/log.ts';
import { type FlowFacts, feedOf, type TopicFacts } from '../inspect/flow-facts.ts';
import { lostTable } from './check-topics.ts';

type TableTopic = TopicFacts & { readonly role: 'output' | 'levels' };

/** Topics that hold what a flow has computed, as they were when it started. A sink is its owner's. */
export function tableTopics(facts: FlowFacts): readonly TableTopic[] {
  const levels = 'levels' in facts ? facts.levels : undefined;
  return [
    ...(facts.table.isSink === true ? [] : [{ ...facts.output, role: 'output' as const }]),
    ...(levels === undefined ? [] : [{ ...levels, role: 'levels' as const }]),
  ];
}

/** The topics that a flow writes, by their names. */
export function writtenNames(facts: FlowFacts): readonly string[] {
  const { deadLetter } = facts;
  const feed = feedOf(facts);
  return [
    ...tableTopics(facts).map(({ topic }) => topic),
    ...(feed === undefined ? [] : [feed.topic]),
    ...(deadLetter === undefined ? [] : [deadLetter.topic]),
  ];
}

/**
 * Throws TOPIC_RECREATED where another topic has the name of one that holds what the flow has computed or set aside. One
 * that is not found is no proof of anything: a broker that has just started may not know it yet, and whoever writes to it
 * hears of it.
 */
export function refuseRecreated(
  facts: FlowFacts,
  found: ReadonlyMap<string, TopicDescription>,
): void {
  const { flow, deadLetter } = facts;
  for (const { role, ...topic } of tableTopics(facts)) {
    if (!isAnother(topic, found)) continue;
    throw lostTable(
      { role, name: topic.topic, flow: flow.name, table: flow.target },
      'created again',
    );
  }
  if (deadLetter === undefined || !isAnother(deadLetter, found)) return;
  throw new FlowError(
    'TOPIC_RECREATED',
    `dead-letter topic "${deadLetter.topic}" was deleted and created again`,
    {
      detail: `What flow "${flow.name}" had set aside there is gone. Its rows are not touched, and its checkpoint stands before whatever it has not set aside yet.`,
      hint: `If nothing of it is needed any more, start the service again: it goes on with the topic that is there now, and keeps in the catalog that dead letters were lost (tidemark gaps). Else have them made again: tidemark refresh ${flow.target}`,
    },
  );
}

/** Whether another topic has the name by now. */
export function isAnother(
  { topic, topicId }: TopicFacts,
  found: ReadonlyMap<string, TopicDescription>,
): boolean {
  const now = found.get(topic)?.topicId;
  return now !== undefined && now !== topicId;
}
