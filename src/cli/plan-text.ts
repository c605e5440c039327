import type { FlowVerdict, TopicVerdict } from '../refresh/deployment-plan.ts';
import { countText } from './count-text.ts';

/** What becomes of a flow, for people. Invariant: of one that ran once it is never said that it goes on. */
export function verdictText({ status, done }: Pick<FlowVerdict, 'status' | 'done'>): string {
  switch (status) {
    case 'new':
      return 'new: it reads its sources from the earliest records';
    case 'unchanged':
      return `unchanged: it ${done === true ? isDone : goesOn}`;
    case 'compatible':
      return `changed, compatible: it ${done === true ? isDone : goesOn}`;
    case 'refresh':
      return 'changed: what is there contradicts it; run refuses';
    case 'gone':
      return 'gone: its checkpoint, its topics and its rows stay as they are; an instance that still runs it lets go once another flow writes its table';
  }
}

const goesOn = 'goes on from its checkpoint';
const isDone = 'ran once and is done, and reads nothing more';

/** How many topics are created; none are known while a source topic is missing, whose partitions they take over. */
export function topicsText(topics: readonly Pick<TopicVerdict, 'action'>[]): string {
  if (topics.length === 0) {
    return 'which topics are to be created can be told once all source topics are there';
  }
  const created = topics.filter(({ action }) => action === 'create').length;
  return `${countText(created, 'topic')} to create, ${topics.length - created} there already`;
}
