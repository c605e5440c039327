import { Kafka, logLevel } from 'kafkajs';

/** Admin deeds from outside of the product, through another client than its own. */
export async function withAdmin<Result>(
  brokers: string,
  deed: (admin: ReturnType<Kafka['admin']>) => Promise<Result>,
): Promise<Result> {
  const kafka = new Kafka({ brokers: brokers.split(','), logLevel: logLevel.NOTHING });
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await deed(admin);
  } finally {
    await admin.disconnect();
  }
}

/** Deletes a topic and creates it again at once. */
export async function recreateTopic(
  brokers: string,
  topic: string,
  numPartitions: number,
): Promise<void> {
  await withAdmin(brokers, async (admin) => {
    await admin.deleteTopics({ topics: [topic] });
    // Brokers hear of a topic that is gone, and of one that is new, a little later than the one that was asked.
    await until(async () => !(await admin.listTopics()).includes(topic));
    await admin.createTopics({ topics: [{ topic, numPartitions }], waitForLeaders: false });
    await until(async () => {
      const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
      return topics[0]?.partitions.every(({ leader }) => leader >= 0) ?? false;
    });
  });
}

/** Until it is true, and does not throw any more. */
async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    if (await condition().catch(() => false)) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error('the cluster never got there');
}
