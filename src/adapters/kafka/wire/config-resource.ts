/** What a configuration belongs to, as the number that Kafka gives it. */
export type ConfigResource = {
  readonly resourceType: number;
  /** A topic's name, a broker's id, or a group's id. */
  readonly resourceName: string;
};

export const TOPIC_RESOURCE = 2;
export const BROKER_RESOURCE = 4;
export const GROUP_RESOURCE = 32;
