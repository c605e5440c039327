import type { CommittedRecord } from '../../adapters/memory/memory-log.ts';
import type { RecordPlace } from '../simulation/simulation-workload.ts';
import { minus } from './check-result.ts';

/**
 * Compares the dead letters of a flow with the bad records of its sources, by the headers that say where they come
 * from. Exactly once each of them is there once; without transactions it may be there again.
 */
export function checkDeadLetters(
  flow: string,
  records: readonly CommittedRecord[],
  expected: readonly RecordPlace[],
  isExact: boolean,
): string[] {
  const places = records.flatMap((record) => {
    const place = `${header(record, 'tm-source-topic')}/${header(record, 'tm-source-partition')}@${header(record, 'tm-source-offset')}`;
    return header(record, 'tm-flow') === flow ? [place] : [];
  });
  const named = expected.map(({ topic, partition, offset }) => `${topic}/${partition}@${offset}`);
  // A topic that was created anew has its places anew.
  const have = isExact ? places : [...new Set(places)];
  const want = isExact ? named : [...new Set(named)];
  return [
    ...minus(want, have).map((place) => `dead letters of flow "${flow}" lack ${place}`),
    ...minus(have, want).map((place) => `dead letters of flow "${flow}" have ${place}`),
  ];
}

function header(record: CommittedRecord, name: string): string {
  return record.headers.find(({ key }) => key === name)?.value?.toString('utf8') ?? '';
}
