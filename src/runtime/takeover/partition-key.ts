/** "topic/partition": how the runtime names a partition in maps. */
export function partitionKey(topic: string, partition: number): string {
  return `${topic}/${partition}`;
}
