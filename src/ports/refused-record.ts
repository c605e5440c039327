import { FlowError } from '../base/errors.ts';

export type RefusedRecord = {
  readonly topic: string;
  readonly partition: number;
  /** Where it is known: the key, as text. */
  readonly key: string | undefined;
  /** What else tells how large it is. */
  readonly size: string;
};

/** A record that the log did not take for its size, and with it the transaction: its topic tells who cannot go on. */
export class RefusedRecordError extends FlowError {
  readonly topic: string;

  constructor({ topic, partition, key, size }: RefusedRecord) {
    const where = `topic "${topic}" partition ${partition}`;
    super('RECORD_TOO_LARGE', `${where}: a record is larger than the topic takes`, {
      detail: key === undefined ? size : `Key ${key}. ${size}`,
      hint: 'Raise max.message.bytes of the topic, or make the rows smaller.',
    });
    this.topic = topic;
  }
}
