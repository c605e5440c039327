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
    for (let attempt = 0; attempt < 100; attempt += 1) {
      if (!(await admin.listTopics()).includes(topic)) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    await admin.createTopics({ topics: [{ topic, numPartitions }], waitForLeaders: true });
  });
}
