// Writes sample bookings for ever: about 50 rows a second, some of them late, drafts, or without a price. It runs in the
// image of the service, whose Kafka client it borrows. KAFKA_BROKERS says where.
import { createRequire } from 'node:module';

const require = createRequire(process.env.SAMPLE_MODULES ?? '/opt/tidemark/package.json');
const { Kafka, logLevel } = require('kafkajs');

const brokers = (process.env.KAFKA_BROKERS ?? '127.0.0.1:9092').split(',');
const topic = process.env.SAMPLE_TOPIC ?? 'bookings';
const rowsPerSecond = Number(process.env.SAMPLE_RATE ?? 50);
const secondsMax = Number(process.env.SAMPLE_SECONDS ?? Number.POSITIVE_INFINITY);
const partitions = 4;
const bookings = 2_000;

const kafka = new Kafka({ brokers, clientId: 'sample-producer', logLevel: logLevel.WARN });
const admin = kafka.admin();
await admin.connect();
await admin.createTopics({ topics: [{ topic, numPartitions: partitions }] });
await admin.disconnect();
const producer = kafka.producer();
await producer.connect();

let isEnding = false;
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => { isEnding = true; });

const guests = ['Ada', 'Alan', 'Barbara', 'Edsger', 'Grace', 'Katherine'];
const pick = (list) => list[Math.floor(Math.random() * list.length)];
let updateId = Date.now() * 1_000;

function row() {
  const bookingId = 500 + Math.floor(Math.random() * bookings);
  updateId += 1;
  const isLate = Math.random() < 0.05;
  return {
    booking_id: bookingId,
    property_id: bookingId % 50 === 0 ? null : bookingId % 97,
    guest: Math.random() < 0.02 ? null : pick(guests),
    status: pick(['CREATED', 'CONFIRMED', 'CONFIRMED', 'CANCELLED', 'DRAFT']),
    total_amount: Math.random() < 0.02 ? 0 : Math.round(Math.random() * 200_000) / 100,
    update_id: isLate ? updateId - 1_000_000 : updateId,
    updated_at: new Date().toISOString(),
  };
}

const batchMs = 200;
const startedMs = Date.now();
let sent = 0;
while (!isEnding && Date.now() - startedMs < secondsMax * 1_000) {
  const due = Math.floor(((Date.now() - startedMs) / 1_000) * rowsPerSecond);
  const messages = [];
  for (; sent < due; sent += 1) {
    const partition = sent % partitions;
    messages.push({ partition, value: sent % 400 === 399 ? null : JSON.stringify(row()) });
  }
  if (messages.length > 0) await producer.send({ topic, messages });
  await new Promise((wake) => setTimeout(wake, batchMs));
}
await producer.disconnect();
