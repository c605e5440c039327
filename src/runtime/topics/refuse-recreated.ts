import type { Log } from '../../ports/log.ts';
import type { FlowFacts, TopicFacts } from '../inspect/flow-facts.ts';
import { lostTable } from './check-topics.ts';

type TableTopic = TopicFacts & { readonly role: 'output' | 'levels' };

/** Topics that hold what a flow has computed, as they were when it started. */
function tableTopics(facts: FlowFacts): readonly TableTopic[] {
  const levels = 'levels' in facts ? facts.levels : undefined;
  return [
    { ...facts.output, role: 'output' },
    ...(levels === undefined ? [] : [{ ...levels, role: 'levels' as const }]),
  ];
}

/**
 * Throws TOPIC_RECREATED where another topic has the name of one that holds what the flow has computed. One that is not
 * found is no proof of anything: a broker that has just started may not know it yet, and whoever writes to it hears of it.
 */
export async function refuseRecreated(log: Log, facts: FlowFacts): Promise<void> {
  const topics = tableTopics(facts);
  const found = await log.describeTopics(topics.map(({ topic }) => topic));
  for (const { topic, topicId, role } of topics) {
    const now = found.get(topic)?.topicId;
    if (now === undefined || now === topicId) continue;
    throw lostTable(
      { role, name: topic, flow: facts.flow.name, table: facts.flow.target },
      'created again',
    );
  }
}
