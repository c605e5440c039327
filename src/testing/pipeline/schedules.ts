/**
 * One way to run a pipeline over the same records. Invariant: the rows at the end do not depend on it.
 */
export type Schedule = {
  readonly name: string;
  /** Of each source topic. */
  readonly partitions: number;
  /** undefined: in the order of the case. */
  readonly shuffleSeed: number | undefined;
  /** Most records of a batch; undefined: all at once. */
  readonly batchRecordsMax: number | undefined;
  readonly workers: number;
  readonly event: 'none' | 'restart' | 'state-lost';
};

const plain: Schedule = {
  name: 'whole',
  partitions: 1,
  shuffleSeed: undefined,
  batchRecordsMax: undefined,
  workers: 1,
  event: 'none',
};

/** The schedule of a pipeline whose result may depend on the order of arrival. */
export const plainSchedule: Schedule = plain;

export const schedules: readonly Schedule[] = [
  plain,
  { ...plain, name: 'each', batchRecordsMax: 1 },
  { ...plain, name: 'shuffled-1', shuffleSeed: 1, batchRecordsMax: 3 },
  { ...plain, name: 'shuffled-2', shuffleSeed: 2, batchRecordsMax: 7 },
  { ...plain, name: 'shuffled-3', shuffleSeed: 3, partitions: 3 },
  { ...plain, name: 'partitions-1', batchRecordsMax: 5 },
  { ...plain, name: 'partitions-2', partitions: 2 },
  { ...plain, name: 'partitions-4', partitions: 4, batchRecordsMax: 2 },
  { ...plain, name: 'workers-2', partitions: 4, batchRecordsMax: 4, workers: 2 },
  { ...plain, name: 'restart', partitions: 2, batchRecordsMax: 2, event: 'restart' },
  { ...plain, name: 'state-lost', partitions: 2, batchRecordsMax: 3, event: 'state-lost' },
];
