import type { PartitionScrub } from '../runtime/inspect/state-scrub.ts';
import { countText } from './count-text.ts';
import { tableText } from './table-text.ts';

/** What a comparison of a table's state with its output topic found, for people. */
export function scrubText(table: string, partitions: readonly PartitionScrub[]): string {
  const differences = partitions.reduce((sum, one) => sum + one.differences, 0);
  const rows = partitions.map((one) => [
    String(one.partition),
    one.state,
    one.stateOffset === null ? '-' : String(one.stateOffset),
    String(one.outputEnd),
    String(one.keys),
    String(one.differences),
    one.differing.join(' '),
  ]);
  const text = tableText(
    ['partition', 'state', 'stands at', 'output ends at', 'keys', 'differing', 'such as'],
    rows,
  );
  if (differences > 0) {
    return `${text}table ${table}: ${countText(differences, 'key')} ${differences === 1 ? 'differs' : 'differ'}; the output topic rules: tidemark state rebuild ${table}\n`;
  }
  // The state stands behind the last record, the output ends behind the marker that committed it.
  const marker = partitions.some(
    ({ state, stateOffset, outputEnd }) =>
      state === 'right' && stateOffset !== null && stateOffset < outputEnd,
  )
    ? ' (offsets beyond a state that is right are markers of transactions)'
    : '';
  return `${text}table ${table}: nothing contradicts the output topic${marker}\n`;
}
