/** Where a record lies in the log. */
export type LogPlace = {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
};
