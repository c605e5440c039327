import { FlowError } from '../../base/errors.ts';
import type { OffsetCommit, SeatedMember } from '../../ports/log.ts';
import type { KafkaCluster } from './cluster.ts';
import { brokerError } from './kafka-errors.ts';
import { deleteGroups } from './wire/delete-groups.ts';
import { describeGroups } from './wire/describe-groups.ts';
import { leaveGroup } from './wire/leave-group.ts';
import { listGroups } from './wire/list-groups.ts';
import { offsetCommit } from './wire/offset-commit.ts';
import { offsetFetch } from './wire/offset-fetch.ts';

const unknownMember = 25;
const groupMissing = 69;

/** Who is in a group; a group that nobody knows has nobody in it. */
export async function groupMembers(
  cluster: KafkaCluster,
  group: string,
): Promise<readonly SeatedMember[]> {
  const answer = await cluster.requestCoordinator(
    { channel: cluster.control, kind: 'group', key: group },
    describeGroups,
    { groups: [group] },
    { errorOf: ({ groups: [described] }) => described?.errorCode ?? 0 },
  );
  const [described] = answer.groups;
  const errorCode = described?.errorCode ?? 0;
  if (described === undefined || errorCode === groupMissing) return [];
  if (errorCode !== 0) throw brokerError(errorCode, `group "${group}"`);
  return described.members.map(({ memberId, instanceId, clientHost }) => ({
    memberId,
    instanceId: instanceId ?? undefined,
    host: clientHost.replace(/^\//, ''),
  }));
}

/** Topic → the groups that have a checkpoint in it. Every broker knows those that it coordinates. */
export async function groupsOn(
  cluster: KafkaCluster,
  topics: readonly string[],
): Promise<ReadonlyMap<string, readonly string[]>> {
  const found = new Map(topics.map((topic) => [topic, [] as string[]]));
  await cluster.refreshTopics(topics);
  const names = new Set<string>();
  for (const nodeId of cluster.nodeIds()) {
    const answer = await cluster.control.request(nodeId, listGroups, { states: [] });
    if (answer.errorCode !== 0)
      throw brokerError(answer.errorCode, `the groups of broker ${nodeId}`);
    for (const { group, protocolType } of answer.groups) {
      if (protocolType === 'consumer' || protocolType === '') names.add(group);
    }
  }
  for (const group of [...names].sort()) {
    const answer = await cluster.requestCoordinator(
      { channel: cluster.control, kind: 'group', key: group },
      offsetFetch,
      { groups: [{ group, partitions: null }], requireStable: false },
      { errorOf: ({ groups: [answered] }) => answered?.errorCode ?? 0 },
    );
    const read = new Set(
      (answer.groups[0]?.partitions ?? []).flatMap(({ topic, offset }) =>
        offset >= 0 ? [topic] : [],
      ),
    );
    for (const topic of read) found.get(topic)?.push(group);
  }
  return found;
}

/** Whoever of them lives finds out with its next heartbeat, and joins anew. */
export async function removeMembers(cluster: KafkaCluster, group: string): Promise<void> {
  const members = await groupMembers(cluster, group);
  if (members.length === 0) return;
  await cluster.requestCoordinator(
    { channel: cluster.control, kind: 'group', key: group },
    leaveGroup,
    {
      group,
      members: members.map(({ memberId, instanceId }) => ({
        memberId,
        instanceId: instanceId ?? null,
        reason: null,
      })),
    },
    // One that has gone meanwhile is what was asked for.
    { errorOf: ({ errorCode }) => errorCode },
  );
}

/**
 * Commits offsets as nobody's member. Invariant: the coordinator takes them only while the group is empty, in one step
 * with looking, so that no member ever goes on from an offset that was moved under it.
 */
export async function commitFromOutside(
  cluster: KafkaCluster,
  group: string,
  offsets: OffsetCommit['offsets'],
): Promise<void> {
  if (offsets.length === 0) return;
  const answer = await cluster.requestCoordinator(
    { channel: cluster.control, kind: 'group', key: group },
    offsetCommit,
    { group, generation: -1, memberId: '', instanceId: null, offsets },
    {
      errorOf: ({ partitions }) =>
        partitions.find(({ errorCode }) => errorCode !== 0)?.errorCode ?? 0,
    },
  );
  const refused = answer.partitions.find(({ errorCode }) => errorCode !== 0);
  if (refused === undefined) return;
  if (refused.errorCode === unknownMember) throw busy(group);
  throw brokerError(
    refused.errorCode,
    `group "${group}", topic "${refused.topic}" partition ${refused.partition}`,
  );
}

/** Deletes a group and its offsets; one that is not there is deleted already. */
export async function deleteGroup(cluster: KafkaCluster, group: string): Promise<void> {
  const answer = await cluster.requestCoordinator(
    { channel: cluster.control, kind: 'group', key: group },
    deleteGroups,
    { groups: [group] },
    { errorOf: ({ groups: [deleted] }) => deleted?.errorCode ?? 0 },
  );
  const errorCode = answer.groups[0]?.errorCode ?? 0;
  if (errorCode !== 0 && errorCode !== groupMissing) {
    throw brokerError(errorCode, `group "${group}"`);
  }
}

function busy(group: string): FlowError {
  return new FlowError('GROUP_BUSY', `group "${group}" has members`, {
    detail: 'Its checkpoints are set from outside only while nobody reads.',
  });
}
