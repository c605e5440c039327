import { addOffsetsToTxn } from '../../../src/adapters/kafka/wire/add-offsets-to-txn.ts';
import { addPartitionsToTxn } from '../../../src/adapters/kafka/wire/add-partitions-to-txn.ts';
import { apiVersions } from '../../../src/adapters/kafka/wire/api-versions.ts';
import { TOPIC_RESOURCE } from '../../../src/adapters/kafka/wire/config-resource.ts';
import { createPartitions } from '../../../src/adapters/kafka/wire/create-partitions.ts';
import { createTopics } from '../../../src/adapters/kafka/wire/create-topics.ts';
import { deleteGroups } from '../../../src/adapters/kafka/wire/delete-groups.ts';
import { deleteRecords } from '../../../src/adapters/kafka/wire/delete-records.ts';
import { deleteTopics } from '../../../src/adapters/kafka/wire/delete-topics.ts';
import { describeConfigs } from '../../../src/adapters/kafka/wire/describe-configs.ts';
import { describeGroups } from '../../../src/adapters/kafka/wire/describe-groups.ts';
import { endTxn } from '../../../src/adapters/kafka/wire/end-txn.ts';
import { fetch } from '../../../src/adapters/kafka/wire/fetch.ts';
import {
  type FindCoordinatorRequest,
  findCoordinator,
} from '../../../src/adapters/kafka/wire/find-coordinator.ts';
import { heartbeat } from '../../../src/adapters/kafka/wire/heartbeat.ts';
import { incrementalAlterConfigs } from '../../../src/adapters/kafka/wire/incremental-alter-configs.ts';
import { initProducerId } from '../../../src/adapters/kafka/wire/init-producer-id.ts';
import { joinGroup } from '../../../src/adapters/kafka/wire/join-group.ts';
import { leaveGroup } from '../../../src/adapters/kafka/wire/leave-group.ts';
import { listGroups } from '../../../src/adapters/kafka/wire/list-groups.ts';
import { listOffsets } from '../../../src/adapters/kafka/wire/list-offsets.ts';
import { metadata } from '../../../src/adapters/kafka/wire/metadata.ts';
import { offsetCommit } from '../../../src/adapters/kafka/wire/offset-commit.ts';
import { offsetDelete } from '../../../src/adapters/kafka/wire/offset-delete.ts';
import { offsetFetch } from '../../../src/adapters/kafka/wire/offset-fetch.ts';
import { produce } from '../../../src/adapters/kafka/wire/produce.ts';
import type { RequestCodec } from '../../../src/adapters/kafka/wire/request-codec.ts';
import { zeroUuid } from '../../../src/adapters/kafka/wire/response-reader.ts';
import { syncGroup } from '../../../src/adapters/kafka/wire/sync-group.ts';
import { txnOffsetCommit } from '../../../src/adapters/kafka/wire/txn-offset-commit.ts';
import type { Wire } from './message-schema.ts';

/** One request and one reply of each kind, as we hold them and as the wire does. */
export type MessageExample = {
  readonly codec: RequestCodec<never, unknown>;
  readonly requestSchema: string;
  readonly responseSchema: string;
  readonly request: (version: number) => unknown;
  readonly wireRequest: Wire;
  readonly wireResponse: Wire;
  readonly response: (version: number) => unknown;
};

type Parts<Request, Response> = {
  readonly requestSchema: string;
  readonly responseSchema: string;
  readonly request: Request | ((version: number) => Request);
  readonly wireRequest: Wire;
  readonly wireResponse: Wire;
  readonly response: Response | ((version: number) => Response);
};

function example<Request, Response>(
  codec: RequestCodec<Request, Response>,
  { request, response, ...parts }: Parts<Request, Response>,
): MessageExample {
  return {
    codec: codec as RequestCodec<never, unknown>,
    ...parts,
    request: (version) => (typeof request === 'function' ? callWith(request, version) : request),
    response: (version) =>
      typeof response === 'function' ? callWith(response, version) : response,
  };
}

function callWith(make: unknown, version: number): unknown {
  return (make as (version: number) => unknown)(version);
}

const topicId = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex').toString('base64url');
const otherId = Buffer.alloc(16, 0xfe).toString('base64url');
const bytes = (text: string): Buffer => Buffer.from(text);
const long = 'täglich'.repeat(40);

const partitionErrors = 'topics [name string, partitions [partitionIndex int32, errorCode int16]]';

export const messageExamples: readonly MessageExample[] = [
  example(apiVersions, {
    requestSchema: 'clientSoftwareName string, clientSoftwareVersion string',
    responseSchema:
      'errorCode int16, apiKeys [apiKey int16, minVersion int16, maxVersion int16], throttleTimeMs int32',
    request: { clientSoftwareName: 'tidemark', clientSoftwareVersion: '1.0' },
    wireRequest: { clientSoftwareName: 'tidemark', clientSoftwareVersion: '1.0' },
    wireResponse: {
      errorCode: 0,
      apiKeys: [
        { apiKey: 0, minVersion: 3, maxVersion: 12 },
        { apiKey: 1, minVersion: 4, maxVersion: 17 },
      ],
      throttleTimeMs: 9,
    },
    response: {
      errorCode: 0,
      apis: new Map([
        [0, { minVersion: 3, maxVersion: 12 }],
        [1, { minVersion: 4, maxVersion: 17 }],
      ]),
      finalizedFeatures: new Map(),
    },
  }),
  example(metadata, {
    requestSchema:
      'topics [topicId uuid @10+, name string?]?, allowAutoTopicCreation bool, includeClusterAuthorizedOperations bool @8-10, includeTopicAuthorizedOperations bool',
    responseSchema:
      'throttleTimeMs int32, brokers [nodeId int32, host string, port int32, rack string?], clusterId string?, controllerId int32, topics [errorCode int16, name string?, topicId uuid @10+, isInternal bool, partitions [errorCode int16, partitionIndex int32, leaderId int32, leaderEpoch int32, replicaNodes int32[], isrNodes int32[], offlineReplicas int32[]], topicAuthorizedOperations int32], clusterAuthorizedOperations int32 @8-10',
    request: { topics: ['orders', long], allowAutoTopicCreation: false },
    wireRequest: {
      topics: [
        { topicId: zeroUuid, name: 'orders' },
        { topicId: zeroUuid, name: long },
      ],
      allowAutoTopicCreation: false,
      includeClusterAuthorizedOperations: false,
      includeTopicAuthorizedOperations: false,
    },
    wireResponse: {
      throttleTimeMs: 1,
      brokers: [
        { nodeId: 1, host: 'one', port: 9092, rack: null },
        { nodeId: 2, host: 'two', port: 9093, rack: 'r2' },
      ],
      clusterId: 'c',
      controllerId: 2,
      topics: [
        {
          errorCode: 0,
          name: 'orders',
          topicId,
          isInternal: false,
          partitions: [
            {
              errorCode: 5,
              partitionIndex: 3,
              leaderId: -1,
              leaderEpoch: 7,
              replicaNodes: [1, 2],
              isrNodes: [2],
              offlineReplicas: [1],
            },
          ],
          topicAuthorizedOperations: -2147483648,
        },
        {
          errorCode: 3,
          name: long,
          topicId: zeroUuid,
          isInternal: true,
          partitions: [],
          topicAuthorizedOperations: -2147483648,
        },
      ],
      clusterAuthorizedOperations: -2147483648,
    },
    response: (version) => ({
      brokers: [
        { nodeId: 1, host: 'one', port: 9092, rack: null },
        { nodeId: 2, host: 'two', port: 9093, rack: 'r2' },
      ],
      clusterId: 'c',
      controllerId: 2,
      topics: [
        {
          errorCode: 0,
          name: 'orders',
          topicId: version >= 10 ? topicId : zeroUuid,
          isInternal: false,
          partitions: [
            {
              errorCode: 5,
              partition: 3,
              leaderId: -1,
              leaderEpoch: 7,
              replicas: [1, 2],
              inSyncReplicas: [2],
            },
          ],
        },
        { errorCode: 3, name: long, topicId: zeroUuid, isInternal: true, partitions: [] },
      ],
    }),
  }),
  example(findCoordinator, {
    requestSchema: 'key string @0-3, keyType int8 @1+, coordinatorKeys string[] @4+',
    responseSchema:
      'throttleTimeMs int32 @1+, errorCode int16 @0-3, errorMessage string? @1-3, nodeId int32 @0-3, host string @0-3, port int32 @0-3, coordinators [key string, nodeId int32, host string, port int32, errorCode int16, errorMessage string?] @4+',
    request: (version): FindCoordinatorRequest => ({
      keyType: version === 0 ? 'group' : 'transaction',
      keys: ['tx'],
    }),
    wireRequest: { key: 'tx', keyType: 1, coordinatorKeys: ['tx'] },
    wireResponse: {
      throttleTimeMs: 0,
      errorCode: 15,
      errorMessage: 'soon',
      nodeId: 4,
      host: 'four',
      port: 9094,
      coordinators: [
        { key: 'tx', nodeId: 4, host: 'four', port: 9094, errorCode: 15, errorMessage: 'soon' },
      ],
    },
    response: (version) => ({
      coordinators: [
        {
          key: version >= 4 ? 'tx' : '',
          nodeId: 4,
          host: 'four',
          port: 9094,
          errorCode: 15,
          errorMessage: version === 0 ? null : 'soon',
        },
      ],
    }),
  }),
  example(fetch, {
    requestSchema:
      'replicaId int32 @0-14, maxWaitMs int32, minBytes int32, maxBytes int32, isolationLevel int8, sessionId int32, sessionEpoch int32, topics [topic string @0-12, topicId uuid @13+, partitions [partition int32, currentLeaderEpoch int32, fetchOffset int64, lastFetchedEpoch int32 @12+, logStartOffset int64, partitionMaxBytes int32]], forgottenTopicsData [topic string @0-12, topicId uuid @13+, partitions int32[]], rackId string',
    responseSchema:
      'throttleTimeMs int32, errorCode int16, sessionId int32, responses [topic string @0-12, topicId uuid @13+, partitions [partitionIndex int32, errorCode int16, highWatermark int64, lastStableOffset int64, logStartOffset int64, abortedTransactions [producerId int64, firstOffset int64]?, preferredReadReplica int32, records bytes?]]',
    request: {
      maxWaitMs: 500,
      minBytes: 1,
      maxBytes: 1 << 24,
      isolation: 'read_committed',
      partitions: [
        { topic: 'orders', topicId, partition: 0, offset: 2 ** 40, leaderEpoch: 3, maxBytes: 99 },
        { topic: 'other', topicId: otherId, partition: 5, offset: 0, leaderEpoch: -1, maxBytes: 9 },
        { topic: 'orders', topicId, partition: 1, offset: 7, leaderEpoch: -1, maxBytes: 99 },
      ],
    },
    wireRequest: {
      replicaId: -1,
      maxWaitMs: 500,
      minBytes: 1,
      maxBytes: 1 << 24,
      isolationLevel: 1,
      sessionId: 0,
      sessionEpoch: -1,
      topics: [
        {
          topic: 'orders',
          topicId,
          partitions: [
            {
              partition: 0,
              currentLeaderEpoch: 3,
              fetchOffset: 2 ** 40,
              lastFetchedEpoch: -1,
              logStartOffset: -1,
              partitionMaxBytes: 99,
            },
            {
              partition: 1,
              currentLeaderEpoch: -1,
              fetchOffset: 7,
              lastFetchedEpoch: -1,
              logStartOffset: -1,
              partitionMaxBytes: 99,
            },
          ],
        },
        {
          topic: 'other',
          topicId: otherId,
          partitions: [
            {
              partition: 5,
              currentLeaderEpoch: -1,
              fetchOffset: 0,
              lastFetchedEpoch: -1,
              logStartOffset: -1,
              partitionMaxBytes: 9,
            },
          ],
        },
      ],
      forgottenTopicsData: [],
      rackId: '',
    },
    wireResponse: {
      throttleTimeMs: 12,
      errorCode: 0,
      sessionId: 0,
      responses: [
        {
          topic: 'orders',
          topicId,
          partitions: [
            {
              partitionIndex: 0,
              errorCode: 0,
              highWatermark: 2 ** 41,
              lastStableOffset: 2 ** 40,
              logStartOffset: 5,
              abortedTransactions: [
                { producerId: 9_007_199_254_740_993n, firstOffset: 40 },
                { producerId: 1n, firstOffset: 6 },
              ],
              preferredReadReplica: -1,
              records: bytes('a record set'),
            },
            {
              partitionIndex: 1,
              errorCode: 1,
              highWatermark: -1,
              lastStableOffset: -1,
              logStartOffset: -1,
              abortedTransactions: null,
              preferredReadReplica: 2,
              records: null,
            },
          ],
        },
      ],
    },
    response: (version) => {
      const place = version >= 13 ? { topic: '', topicId } : { topic: 'orders', topicId: zeroUuid };
      return {
        throttleMs: 12,
        errorCode: 0,
        partitions: [
          {
            ...place,
            partition: 0,
            errorCode: 0,
            highWatermark: 2 ** 41,
            lastStableOffset: 2 ** 40,
            logStartOffset: 5,
            abortedTransactions: [
              { producerId: 9_007_199_254_740_993n, firstOffset: 40 },
              { producerId: 1n, firstOffset: 6 },
            ],
            preferredReadReplica: -1,
            records: bytes('a record set'),
          },
          {
            ...place,
            partition: 1,
            errorCode: 1,
            highWatermark: -1,
            lastStableOffset: -1,
            logStartOffset: -1,
            abortedTransactions: null,
            preferredReadReplica: 2,
            records: bytes(''),
          },
        ],
      };
    },
  }),
  example(listOffsets, {
    requestSchema:
      'replicaId int32, isolationLevel int8, topics [name string, partitions [partitionIndex int32, currentLeaderEpoch int32, timestamp int64]]',
    responseSchema:
      'throttleTimeMs int32, topics [name string, partitions [partitionIndex int32, errorCode int16, timestamp int64, offset int64, leaderEpoch int32]]',
    request: {
      isolation: 'read_committed',
      partitions: [{ topic: 'orders', partition: 2, leaderEpoch: -1, timestamp: -2 }],
    },
    wireRequest: {
      replicaId: -1,
      isolationLevel: 1,
      topics: [
        {
          name: 'orders',
          partitions: [{ partitionIndex: 2, currentLeaderEpoch: -1, timestamp: -2 }],
        },
      ],
    },
    wireResponse: {
      throttleTimeMs: 0,
      topics: [
        {
          name: 'orders',
          partitions: [
            { partitionIndex: 2, errorCode: 0, timestamp: -1, offset: 2 ** 50, leaderEpoch: 4 },
          ],
        },
      ],
    },
    response: {
      partitions: [
        {
          topic: 'orders',
          partition: 2,
          errorCode: 0,
          timestamp: -1,
          offset: 2 ** 50,
          leaderEpoch: 4,
        },
      ],
    },
  }),
  example(produce, {
    requestSchema:
      'transactionalId string?, acks int16, timeoutMs int32, topicData [name string, partitionData [index int32, records bytes?]]',
    responseSchema:
      'responses [name string, partitionResponses [index int32, errorCode int16, baseOffset int64, logAppendTimeMs int64, logStartOffset int64, recordErrors [batchIndex int32, batchIndexErrorMessage string?], errorMessage string?]], throttleTimeMs int32',
    request: {
      transactionalId: 'tx',
      acks: -1,
      timeoutMs: 30_000,
      partitions: [
        { topic: 'a', partition: 0, batch: bytes('batch a0') },
        { topic: 'b', partition: 1, batch: bytes('batch b1'.repeat(50)) },
        { topic: 'a', partition: 4, batch: bytes('batch a4') },
      ],
    },
    wireRequest: {
      transactionalId: 'tx',
      acks: -1,
      timeoutMs: 30_000,
      topicData: [
        {
          name: 'a',
          partitionData: [
            { index: 0, records: bytes('batch a0') },
            { index: 4, records: bytes('batch a4') },
          ],
        },
        { name: 'b', partitionData: [{ index: 1, records: bytes('batch b1'.repeat(50)) }] },
      ],
    },
    wireResponse: {
      responses: [
        {
          name: 'a',
          partitionResponses: [
            {
              index: 0,
              errorCode: 0,
              baseOffset: 70,
              logAppendTimeMs: -1,
              logStartOffset: 6,
              recordErrors: [],
              errorMessage: null,
            },
            {
              index: 4,
              errorCode: 87,
              baseOffset: -1,
              logAppendTimeMs: -1,
              logStartOffset: -1,
              recordErrors: [{ batchIndex: 3, batchIndexErrorMessage: 'no key' }],
              errorMessage: 'records are invalid',
            },
          ],
        },
      ],
      throttleTimeMs: 3,
    },
    response: {
      partitions: [
        {
          topic: 'a',
          partition: 0,
          errorCode: 0,
          baseOffset: 70,
          logStartOffset: 6,
          errorMessage: null,
        },
        {
          topic: 'a',
          partition: 4,
          errorCode: 87,
          baseOffset: -1,
          logStartOffset: -1,
          errorMessage: 'records are invalid',
        },
      ],
      throttleMs: 3,
    },
  }),
  example(initProducerId, {
    requestSchema:
      'transactionalId string?, transactionTimeoutMs int32, producerId int64, producerEpoch int16',
    responseSchema: 'throttleTimeMs int32, errorCode int16, producerId int64, producerEpoch int16',
    request: {
      transactionalId: null,
      transactionTimeoutMs: 60_000,
      producerId: -1n,
      producerEpoch: -1,
    },
    wireRequest: {
      transactionalId: null,
      transactionTimeoutMs: 60_000,
      producerId: -1,
      producerEpoch: -1,
    },
    wireResponse: { throttleTimeMs: 0, errorCode: 0, producerId: 4000n, producerEpoch: 32_767 },
    response: { errorCode: 0, producerId: 4000n, producerEpoch: 32_767 },
  }),
  example(addPartitionsToTxn, {
    requestSchema:
      'v3AndBelowTransactionalId string, v3AndBelowProducerId int64, v3AndBelowProducerEpoch int16, v3AndBelowTopics [name string, partitions int32[]]',
    responseSchema:
      'throttleTimeMs int32, resultsByTopicV3AndBelow [name string, resultsByPartition [partitionIndex int32, partitionErrorCode int16]]',
    request: {
      transactionalId: 'tx',
      producerId: 5n,
      producerEpoch: 2,
      partitions: [
        { topic: 'a', partition: 1 },
        { topic: 'a', partition: 0 },
        { topic: 'b', partition: 7 },
      ],
    },
    wireRequest: {
      v3AndBelowTransactionalId: 'tx',
      v3AndBelowProducerId: 5,
      v3AndBelowProducerEpoch: 2,
      v3AndBelowTopics: [
        { name: 'a', partitions: [1, 0] },
        { name: 'b', partitions: [7] },
      ],
    },
    wireResponse: {
      throttleTimeMs: 0,
      resultsByTopicV3AndBelow: [
        {
          name: 'a',
          resultsByPartition: [
            { partitionIndex: 1, partitionErrorCode: 51 },
            { partitionIndex: 0, partitionErrorCode: 0 },
          ],
        },
        { name: 'b', resultsByPartition: [{ partitionIndex: 7, partitionErrorCode: 3 }] },
      ],
    },
    response: {
      partitions: [
        { topic: 'a', partition: 1, errorCode: 51 },
        { topic: 'a', partition: 0, errorCode: 0 },
        { topic: 'b', partition: 7, errorCode: 3 },
      ],
    },
  }),
  example(addOffsetsToTxn, {
    requestSchema: 'transactionalId string, producerId int64, producerEpoch int16, groupId string',
    responseSchema: 'throttleTimeMs int32, errorCode int16',
    request: { transactionalId: 'tx', producerId: 5n, producerEpoch: 2, group: 'g' },
    wireRequest: { transactionalId: 'tx', producerId: 5, producerEpoch: 2, groupId: 'g' },
    wireResponse: { throttleTimeMs: 0, errorCode: 51 },
    response: { errorCode: 51 },
  }),
  example(txnOffsetCommit, {
    requestSchema:
      'transactionalId string, groupId string, producerId int64, producerEpoch int16, generationId int32, memberId string, groupInstanceId string?, topics [name string, partitions [partitionIndex int32, committedOffset int64, committedLeaderEpoch int32, committedMetadata string?]]',
    responseSchema: `throttleTimeMs int32, ${partitionErrors}`,
    request: {
      transactionalId: 'tx',
      group: 'g',
      producerId: 5n,
      producerEpoch: 2,
      generation: 8,
      memberId: 'm-1',
      instanceId: 'pod-0',
      offsets: [
        { topic: 'a', partition: 0, offset: 2 ** 45, metadata: 'plan' },
        { topic: 'a', partition: 1, offset: 0, metadata: null },
      ],
    },
    wireRequest: {
      transactionalId: 'tx',
      groupId: 'g',
      producerId: 5,
      producerEpoch: 2,
      generationId: 8,
      memberId: 'm-1',
      groupInstanceId: 'pod-0',
      topics: [
        {
          name: 'a',
          partitions: [
            {
              partitionIndex: 0,
              committedOffset: 2 ** 45,
              committedLeaderEpoch: -1,
              committedMetadata: 'plan',
            },
            {
              partitionIndex: 1,
              committedOffset: 0,
              committedLeaderEpoch: -1,
              committedMetadata: null,
            },
          ],
        },
      ],
    },
    wireResponse: {
      throttleTimeMs: 0,
      topics: [{ name: 'a', partitions: [{ partitionIndex: 0, errorCode: 22 }] }],
    },
    response: { partitions: [{ topic: 'a', partition: 0, errorCode: 22 }] },
  }),
  example(endTxn, {
    requestSchema: 'transactionalId string, producerId int64, producerEpoch int16, committed bool',
    responseSchema:
      'throttleTimeMs int32, errorCode int16, producerId int64 @5+, producerEpoch int16 @5+',
    request: { transactionalId: 'tx', producerId: 5n, producerEpoch: 2, committed: true },
    wireRequest: { transactionalId: 'tx', producerId: 5, producerEpoch: 2, committed: true },
    wireResponse: { throttleTimeMs: 0, errorCode: 0, producerId: 5n, producerEpoch: 3 },
    response: (version) => ({
      errorCode: 0,
      next: version >= 5 ? { producerId: 5n, producerEpoch: 3 } : undefined,
    }),
  }),
  example(offsetCommit, {
    requestSchema:
      'groupId string, generationIdOrMemberEpoch int32, memberId string, groupInstanceId string?, topics [name string, partitions [partitionIndex int32, committedOffset int64, committedLeaderEpoch int32, committedMetadata string?]]',
    responseSchema: `throttleTimeMs int32, ${partitionErrors}`,
    request: {
      group: 'g',
      generation: 8,
      memberId: 'm-1',
      instanceId: null,
      offsets: [{ topic: 'a', partition: 0, offset: 17, metadata: '' }],
    },
    wireRequest: {
      groupId: 'g',
      generationIdOrMemberEpoch: 8,
      memberId: 'm-1',
      groupInstanceId: null,
      topics: [
        {
          name: 'a',
          partitions: [
            {
              partitionIndex: 0,
              committedOffset: 17,
              committedLeaderEpoch: -1,
              committedMetadata: '',
            },
          ],
        },
      ],
    },
    wireResponse: {
      throttleTimeMs: 0,
      topics: [{ name: 'a', partitions: [{ partitionIndex: 0, errorCode: 25 }] }],
    },
    response: { partitions: [{ topic: 'a', partition: 0, errorCode: 25 }] },
  }),
  example(offsetFetch, {
    requestSchema:
      'groupId string @0-7, topics [name string, partitionIndexes int32[]]? @0-7, groups [groupId string, topics [name string, partitionIndexes int32[]]?] @8+, requireStable bool',
    responseSchema:
      'throttleTimeMs int32, topics [name string, partitions [partitionIndex int32, committedOffset int64, committedLeaderEpoch int32, metadata string?, errorCode int16]] @0-7, errorCode int16 @0-7, groups [groupId string, topics [name string, partitions [partitionIndex int32, committedOffset int64, committedLeaderEpoch int32, metadata string?, errorCode int16]], errorCode int16] @8+',
    request: {
      groups: [
        {
          group: 'g',
          partitions: [
            { topic: 'a', partition: 0 },
            { topic: 'a', partition: 3 },
          ],
        },
      ],
      requireStable: true,
    },
    wireRequest: {
      groupId: 'g',
      topics: [{ name: 'a', partitionIndexes: [0, 3] }],
      groups: [{ groupId: 'g', topics: [{ name: 'a', partitionIndexes: [0, 3] }] }],
      requireStable: true,
    },
    wireResponse: {
      throttleTimeMs: 0,
      topics: [
        {
          name: 'a',
          partitions: [
            {
              partitionIndex: 0,
              committedOffset: 91,
              committedLeaderEpoch: 2,
              metadata: 'plan',
              errorCode: 0,
            },
            {
              partitionIndex: 3,
              committedOffset: -1,
              committedLeaderEpoch: -1,
              metadata: null,
              errorCode: 88,
            },
          ],
        },
      ],
      errorCode: 14,
      groups: [
        {
          groupId: 'g',
          topics: [
            {
              name: 'a',
              partitions: [
                {
                  partitionIndex: 0,
                  committedOffset: 91,
                  committedLeaderEpoch: 2,
                  metadata: 'plan',
                  errorCode: 0,
                },
                {
                  partitionIndex: 3,
                  committedOffset: -1,
                  committedLeaderEpoch: -1,
                  metadata: null,
                  errorCode: 88,
                },
              ],
            },
          ],
          errorCode: 14,
        },
      ],
    },
    response: (version) => ({
      groups: [
        {
          group: version >= 8 ? 'g' : '',
          errorCode: 14,
          partitions: [
            {
              topic: 'a',
              partition: 0,
              offset: 91,
              leaderEpoch: 2,
              metadata: 'plan',
              errorCode: 0,
            },
            {
              topic: 'a',
              partition: 3,
              offset: -1,
              leaderEpoch: -1,
              metadata: null,
              errorCode: 88,
            },
          ],
        },
      ],
    }),
  }),
  example(joinGroup, {
    requestSchema:
      'groupId string, sessionTimeoutMs int32, rebalanceTimeoutMs int32, memberId string, groupInstanceId string?, protocolType string, protocols [name string, metadata bytes], reason string? @8+',
    responseSchema:
      'throttleTimeMs int32, errorCode int16, generationId int32, protocolType string? @7+, protocolName string?, leader string, skipAssignment bool @9+, memberId string, members [memberId string, groupInstanceId string?, metadata bytes]',
    request: {
      group: 'g',
      sessionTimeoutMs: 45_000,
      rebalanceTimeoutMs: 60_000,
      memberId: '',
      instanceId: 'pod-0',
      protocolType: 'consumer',
      protocols: [
        { name: 'range', metadata: bytes('topics') },
        { name: 'other', metadata: bytes('') },
      ],
      reason: 'began',
    },
    wireRequest: {
      groupId: 'g',
      sessionTimeoutMs: 45_000,
      rebalanceTimeoutMs: 60_000,
      memberId: '',
      groupInstanceId: 'pod-0',
      protocolType: 'consumer',
      protocols: [
        { name: 'range', metadata: bytes('topics') },
        { name: 'other', metadata: bytes('') },
      ],
      reason: 'began',
    },
    wireResponse: {
      throttleTimeMs: 0,
      errorCode: 0,
      generationId: 12,
      protocolType: 'consumer',
      protocolName: 'range',
      leader: 'm-1',
      skipAssignment: true,
      memberId: 'm-2',
      members: [
        { memberId: 'm-1', groupInstanceId: null, metadata: bytes('one') },
        { memberId: 'm-2', groupInstanceId: 'pod-0', metadata: bytes('two') },
      ],
    },
    response: (version) => ({
      errorCode: 0,
      generation: 12,
      protocolName: 'range',
      leaderId: 'm-1',
      skipAssignment: version >= 9,
      memberId: 'm-2',
      members: [
        { memberId: 'm-1', instanceId: null, metadata: bytes('one') },
        { memberId: 'm-2', instanceId: 'pod-0', metadata: bytes('two') },
      ],
    }),
  }),
  example(syncGroup, {
    requestSchema:
      'groupId string, generationId int32, memberId string, groupInstanceId string?, protocolType string? @5+, protocolName string? @5+, assignments [memberId string, assignment bytes]',
    responseSchema:
      'throttleTimeMs int32, errorCode int16, protocolType string? @5+, protocolName string? @5+, assignment bytes',
    request: {
      group: 'g',
      generation: 12,
      memberId: 'm-1',
      instanceId: null,
      protocolType: 'consumer',
      protocolName: 'range',
      assignments: [{ memberId: 'm-1', assignment: bytes('all') }],
    },
    wireRequest: {
      groupId: 'g',
      generationId: 12,
      memberId: 'm-1',
      groupInstanceId: null,
      protocolType: 'consumer',
      protocolName: 'range',
      assignments: [{ memberId: 'm-1', assignment: bytes('all') }],
    },
    wireResponse: {
      throttleTimeMs: 0,
      errorCode: 27,
      protocolType: 'consumer',
      protocolName: 'range',
      assignment: bytes('all'),
    },
    response: { errorCode: 27, assignment: bytes('all') },
  }),
  example(heartbeat, {
    requestSchema: 'groupId string, generationId int32, memberId string, groupInstanceId string?',
    responseSchema: 'throttleTimeMs int32, errorCode int16',
    request: { group: 'g', generation: 12, memberId: 'm-1', instanceId: 'pod-0' },
    wireRequest: { groupId: 'g', generationId: 12, memberId: 'm-1', groupInstanceId: 'pod-0' },
    wireResponse: { throttleTimeMs: 0, errorCode: 27 },
    response: { errorCode: 27 },
  }),
  example(leaveGroup, {
    requestSchema:
      'groupId string, members [memberId string, groupInstanceId string?, reason string? @5+]',
    responseSchema:
      'throttleTimeMs int32, errorCode int16, members [memberId string, groupInstanceId string?, errorCode int16]',
    request: { group: 'g', members: [{ memberId: '', instanceId: 'pod-0', reason: 'gone' }] },
    wireRequest: {
      groupId: 'g',
      members: [{ memberId: '', groupInstanceId: 'pod-0', reason: 'gone' }],
    },
    wireResponse: {
      throttleTimeMs: 0,
      errorCode: 0,
      members: [{ memberId: 'm-1', groupInstanceId: 'pod-0', errorCode: 25 }],
    },
    response: {
      errorCode: 0,
      members: [{ memberId: 'm-1', instanceId: 'pod-0', errorCode: 25 }],
    },
  }),
  example(createTopics, {
    requestSchema:
      'topics [name string, numPartitions int32, replicationFactor int16, assignments [partitionIndex int32, brokerIds int32[]], configs [name string, value string?]], timeoutMs int32, validateOnly bool',
    responseSchema:
      'throttleTimeMs int32, topics [name string, topicId uuid @7+, errorCode int16, errorMessage string?, numPartitions int32, replicationFactor int16, configs [name string, value string?, readOnly bool, configSource int8, isSensitive bool]?]',
    request: {
      topics: [
        {
          name: 'a',
          partitions: 4,
          replicationFactor: -1,
          configs: [{ name: 'cleanup.policy', value: 'compact' }],
        },
      ],
      timeoutMs: 1000,
      validateOnly: true,
    },
    wireRequest: {
      topics: [
        {
          name: 'a',
          numPartitions: 4,
          replicationFactor: -1,
          assignments: [],
          configs: [{ name: 'cleanup.policy', value: 'compact' }],
        },
      ],
      timeoutMs: 1000,
      validateOnly: true,
    },
    wireResponse: {
      throttleTimeMs: 0,
      topics: [
        {
          name: 'a',
          topicId,
          errorCode: 36,
          errorMessage: 'there',
          numPartitions: 4,
          replicationFactor: 1,
          configs: [
            {
              name: 'cleanup.policy',
              value: 'compact',
              readOnly: false,
              configSource: 1,
              isSensitive: false,
            },
          ],
        },
      ],
    },
    response: (version) => ({
      topics: [
        {
          name: 'a',
          topicId: version >= 7 ? topicId : zeroUuid,
          errorCode: 36,
          errorMessage: 'there',
          partitions: 4,
          replicationFactor: 1,
        },
      ],
    }),
  }),
  example(deleteTopics, {
    requestSchema:
      'topics [name string?, topicId uuid] @6+, topicNames string[] @0-5, timeoutMs int32',
    responseSchema:
      'throttleTimeMs int32, responses [name string?, topicId uuid @6+, errorCode int16, errorMessage string? @5+]',
    request: { names: ['a', 'b'], timeoutMs: 1000 },
    wireRequest: {
      topics: [
        { name: 'a', topicId: zeroUuid },
        { name: 'b', topicId: zeroUuid },
      ],
      topicNames: ['a', 'b'],
      timeoutMs: 1000,
    },
    wireResponse: {
      throttleTimeMs: 0,
      responses: [{ name: 'a', topicId, errorCode: 3, errorMessage: 'unknown' }],
    },
    response: (version) => ({
      topics: [
        {
          name: 'a',
          topicId: version >= 6 ? topicId : zeroUuid,
          errorCode: 3,
          errorMessage: version >= 5 ? 'unknown' : null,
        },
      ],
    }),
  }),
  example(deleteRecords, {
    requestSchema:
      'topics [name string, partitions [partitionIndex int32, offset int64]], timeoutMs int32',
    responseSchema:
      'throttleTimeMs int32, topics [name string, partitions [partitionIndex int32, lowWatermark int64, errorCode int16]]',
    request: { partitions: [{ topic: 'a', partition: 1, offset: 99 }], timeoutMs: 1000 },
    wireRequest: {
      topics: [{ name: 'a', partitions: [{ partitionIndex: 1, offset: 99 }] }],
      timeoutMs: 1000,
    },
    wireResponse: {
      throttleTimeMs: 0,
      topics: [{ name: 'a', partitions: [{ partitionIndex: 1, lowWatermark: 99, errorCode: 0 }] }],
    },
    response: { partitions: [{ topic: 'a', partition: 1, logStartOffset: 99, errorCode: 0 }] },
  }),
  example(describeConfigs, {
    requestSchema:
      'resources [resourceType int8, resourceName string, configurationKeys string[]?], includeSynonyms bool, includeDocumentation bool @3+',
    responseSchema:
      'throttleTimeMs int32, results [errorCode int16, errorMessage string?, resourceType int8, resourceName string, configs [name string, value string?, readOnly bool, configSource int8, isSensitive bool, synonyms [name string, value string?, source int8], configType int8 @3+, documentation string? @3+]]',
    request: {
      resources: [
        { resourceType: TOPIC_RESOURCE, resourceName: 'a', names: null },
        { resourceType: TOPIC_RESOURCE, resourceName: 'b', names: ['retention.ms'] },
      ],
    },
    wireRequest: {
      resources: [
        { resourceType: 2, resourceName: 'a', configurationKeys: null },
        { resourceType: 2, resourceName: 'b', configurationKeys: ['retention.ms'] },
      ],
      includeSynonyms: false,
      includeDocumentation: false,
    },
    wireResponse: {
      throttleTimeMs: 0,
      results: [
        {
          errorCode: 0,
          errorMessage: null,
          resourceType: 2,
          resourceName: 'a',
          configs: [
            {
              name: 'retention.ms',
              value: '604800000',
              readOnly: false,
              configSource: 5,
              isSensitive: false,
              synonyms: [{ name: 'log.retention.ms', value: null, source: 5 }],
              configType: 5,
              documentation: 'kept',
            },
          ],
        },
      ],
    },
    response: {
      resources: [
        {
          errorCode: 0,
          errorMessage: null,
          resourceType: 2,
          resourceName: 'a',
          configs: [
            {
              name: 'retention.ms',
              value: '604800000',
              readOnly: false,
              source: 5,
              sensitive: false,
            },
          ],
        },
      ],
    },
  }),
  example(incrementalAlterConfigs, {
    requestSchema:
      'resources [resourceType int8, resourceName string, configs [name string, configOperation int8, value string?]], validateOnly bool',
    responseSchema:
      'throttleTimeMs int32, responses [errorCode int16, errorMessage string?, resourceType int8, resourceName string]',
    request: {
      resources: [
        {
          resourceType: TOPIC_RESOURCE,
          resourceName: 'a',
          configs: [
            { name: 'retention.ms', operation: 'set', value: '1' },
            { name: 'cleanup.policy', operation: 'delete', value: null },
          ],
        },
      ],
      validateOnly: false,
    },
    wireRequest: {
      resources: [
        {
          resourceType: 2,
          resourceName: 'a',
          configs: [
            { name: 'retention.ms', configOperation: 0, value: '1' },
            { name: 'cleanup.policy', configOperation: 1, value: null },
          ],
        },
      ],
      validateOnly: false,
    },
    wireResponse: {
      throttleTimeMs: 0,
      responses: [{ errorCode: 40, errorMessage: 'no', resourceType: 2, resourceName: 'a' }],
    },
    response: {
      resources: [{ errorCode: 40, errorMessage: 'no', resourceType: 2, resourceName: 'a' }],
    },
  }),
  example(createPartitions, {
    requestSchema:
      'topics [name string, count int32, assignments [brokerIds int32[]]?], timeoutMs int32, validateOnly bool',
    responseSchema:
      'throttleTimeMs int32, results [name string, errorCode int16, errorMessage string?]',
    request: { topics: [{ name: 'a', count: 8 }], timeoutMs: 1000, validateOnly: false },
    wireRequest: {
      topics: [{ name: 'a', count: 8, assignments: null }],
      timeoutMs: 1000,
      validateOnly: false,
    },
    wireResponse: {
      throttleTimeMs: 0,
      results: [{ name: 'a', errorCode: 37, errorMessage: 'fewer' }],
    },
    response: { topics: [{ name: 'a', errorCode: 37, errorMessage: 'fewer' }] },
  }),
  example(deleteGroups, {
    requestSchema: 'groupsNames string[]',
    responseSchema: 'throttleTimeMs int32, results [groupId string, errorCode int16]',
    request: { groups: ['g', 'h'] },
    wireRequest: { groupsNames: ['g', 'h'] },
    wireResponse: { throttleTimeMs: 0, results: [{ groupId: 'g', errorCode: 68 }] },
    response: { groups: [{ group: 'g', errorCode: 68 }] },
  }),
  example(describeGroups, {
    requestSchema: 'groups string[], includeAuthorizedOperations bool',
    responseSchema:
      'throttleTimeMs int32, groups [errorCode int16, groupId string, groupState string, protocolType string, protocolData string, members [memberId string, groupInstanceId string?, clientId string, clientHost string, memberMetadata bytes, memberAssignment bytes], authorizedOperations int32]',
    request: { groups: ['g'] },
    wireRequest: { groups: ['g'], includeAuthorizedOperations: false },
    wireResponse: {
      throttleTimeMs: 0,
      groups: [
        {
          errorCode: 0,
          groupId: 'g',
          groupState: 'Stable',
          protocolType: 'consumer',
          protocolData: 'range',
          members: [
            {
              memberId: 'm-1',
              groupInstanceId: 'pod-0',
              clientId: 'c',
              clientHost: '/127.0.0.1',
              memberMetadata: bytes('topics'),
              memberAssignment: bytes('all'),
            },
          ],
          authorizedOperations: -2147483648,
        },
      ],
    },
    response: {
      groups: [
        {
          errorCode: 0,
          group: 'g',
          state: 'Stable',
          protocolType: 'consumer',
          protocolName: 'range',
          members: [
            {
              memberId: 'm-1',
              instanceId: 'pod-0',
              clientId: 'c',
              clientHost: '/127.0.0.1',
              metadata: bytes('topics'),
              assignment: bytes('all'),
            },
          ],
        },
      ],
    },
  }),
  example(listGroups, {
    requestSchema: 'statesFilter string[] @4+',
    responseSchema:
      'throttleTimeMs int32, errorCode int16, groups [groupId string, protocolType string, groupState string @4+]',
    request: { states: ['Empty'] },
    wireRequest: { statesFilter: ['Empty'] },
    wireResponse: {
      throttleTimeMs: 0,
      errorCode: 0,
      groups: [{ groupId: 'g', protocolType: 'consumer', groupState: 'Empty' }],
    },
    response: (version) => ({
      errorCode: 0,
      groups: [{ group: 'g', protocolType: 'consumer', state: version >= 4 ? 'Empty' : '' }],
    }),
  }),
  example(offsetDelete, {
    requestSchema: 'groupId string, topics [name string, partitions [partitionIndex int32]]',
    responseSchema: `errorCode int16, throttleTimeMs int32, ${partitionErrors}`,
    request: {
      group: 'g',
      partitions: [
        { topic: 'a', partition: 0 },
        { topic: 'a', partition: 1 },
      ],
    },
    wireRequest: {
      groupId: 'g',
      topics: [{ name: 'a', partitions: [{ partitionIndex: 0 }, { partitionIndex: 1 }] }],
    },
    wireResponse: {
      errorCode: 0,
      throttleTimeMs: 0,
      topics: [{ name: 'a', partitions: [{ partitionIndex: 0, errorCode: 86 }] }],
    },
    response: { errorCode: 0, partitions: [{ topic: 'a', partition: 0, errorCode: 86 }] },
  }),
];
