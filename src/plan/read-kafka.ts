import { literal } from '../expr/call.ts';
import type { Expression as BoundExpression } from '../expr/expression.ts';
import type { CallExpression, Expression } from '../sql/ast.ts';
import { nameHint } from './bind/name-hint.ts';
import { nameKey, topicNameFault } from './bind/names.ts';
import { sourcePlan } from './catalog.ts';
import { type FaultList, notSupportedYet, planFault, planWarning } from './faults.ts';
import { kafkaColumns } from './kafka-columns.ts';
import { type BoundRelation, sourceRelation, withStep } from './relation.ts';

const parameters: readonly string[] = [
  'bootstrapServers',
  'subscribe',
  'subscribePattern',
  'assign',
  'startingOffsets',
  'failOnDataLoss',
];

/**
 * `STREAM read_kafka(subscribe => 'topic')`: the raw records, with the columns that they have on
 * Databricks. The brokers are those of the configuration.
 */
export function bindReadKafka(
  call: CallExpression,
  isStream: boolean,
  faults: FaultList,
): BoundRelation | undefined {
  if (!isStream) {
    faults.add(
      planFault('SOURCE_NOT_STREAMING', 'read_kafka is read without STREAM', call.place, {
        hint: 'Write FROM STREAM(read_kafka(…)).',
      }),
    );
  }
  const topic = readArguments(call, faults);
  if (topic === undefined) return undefined;
  const plan = sourcePlan(`read_kafka(${topic})`, topic, 'bytes', [
    { name: 'value', type: { kind: 'binary' } },
  ]);
  const { place } = call;
  const raw = sourceRelation(plan, 1, ['read_kafka'], place);
  const columns = kafkaColumns.map(([name, column]) => {
    const found = raw.columns.find((candidate) => candidate.name === column);
    const value: BoundExpression =
      found === undefined
        ? literal(null, { kind: 'void' }, place)
        : { node: 'column', type: found.type, index: found.index, name: column, place };
    return { name, value };
  });
  columns.push({ name: 'timestampType', value: literal(0, { kind: 'int' }, place) });
  return {
    ...withStep(raw, { step: 'project', columns }),
    width: columns.length,
    columns: columns.map(({ name, value }, index) => ({
      name,
      type: value.type,
      index,
      qualifier: ['read_kafka'],
      hidden: false,
      broken: false,
      place,
    })),
  };
}

function readArguments(call: CallExpression, faults: FaultList): string | undefined {
  let topic: string | undefined;
  let isFine = true;
  for (const { name, value } of call.named) {
    const key = parameters.find((known) => nameKey(known) === nameKey(name.text));
    if (key === undefined) {
      const hint = nameHint(name.text, parameters, 'parameters of read_kafka');
      const message = `read_kafka has no parameter "${name.text}"`;
      faults.add(planFault('OPTION_UNKNOWN', message, name.place, { hint }));
    } else if (key === 'subscribe') {
      topic = readTopic(value, faults);
      isFine &&= topic !== undefined;
    } else if (key === 'subscribePattern' || key === 'assign') {
      const hint = "Name one topic: subscribe => 'topic', and unite several with UNION ALL.";
      faults.add(notSupportedYet(`${key} of read_kafka`, name.place, hint));
      isFine = false;
    } else if (key === 'bootstrapServers') {
      const message = 'bootstrapServers is ignored: the brokers stand in the configuration';
      faults.add(planWarning('CLAUSE_IGNORED', message, name.place));
    } else {
      checkStart(key, value, faults);
    }
  }
  if (topic === undefined && isFine) {
    const message = 'read_kafka does not say which topic';
    const hint = "Write read_kafka(subscribe => 'topic').";
    faults.add(planFault('OPTION_VALUE', message, call.place, { hint }));
  }
  return isFine ? topic : undefined;
}

function readTopic(value: Expression, faults: FaultList): string | undefined {
  const topic = value.node === 'string' ? value.value : undefined;
  const reason = topic === undefined ? 'it is no text in quotes' : topicNameFault(topic);
  if (reason === undefined) return topic;
  if (topic?.includes(',') === true) {
    const hint = 'Read each topic with its own query and unite them with UNION ALL.';
    faults.add(notSupportedYet('a list of topics in read_kafka', value.place, hint));
  } else {
    const message = `subscribe cannot be the name of a topic: ${reason}`;
    faults.add(planFault('TOPIC_NAME_INVALID', message, value.place));
  }
  return undefined;
}

function checkStart(key: string, value: Expression, faults: FaultList): void {
  const text = value.node === 'string' ? value.value.toLowerCase() : undefined;
  if (key !== 'startingOffsets' || text === 'earliest') return;
  faults.add(
    planFault('OPTION_VALUE', 'a flow starts at the earliest offset', value.place, {
      detail: 'A table is a function of its source, so its first start reads all of it.',
      hint: 'Leave startingOffsets out.',
    }),
  );
}
