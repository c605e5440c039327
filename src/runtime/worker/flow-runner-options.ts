import type { Clock } from '../../ports/clock.ts';
import type { GroupMember, Log } from '../../ports/log.ts';
import type { StateStore } from '../../ports/state-store.ts';
import type { Tracer } from '../../ports/tracer.ts';
import type { FlowFacts } from '../inspect/flow-facts.ts';
import type { RuntimeListener } from '../runtime-events.ts';
import type { Catalog } from '../topics/catalog.ts';
import type { OwnId } from './own-id.ts';
import type { StageTimes } from './stage-times.ts';

export type FlowRunnerOptions = {
  readonly pipeline: string;
  readonly facts: FlowFacts;
  readonly log: Log;
  readonly state: StateStore;
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly listener: RuntimeListener;
  readonly own: OwnId;
  readonly instance: string;
  readonly member: GroupMember;
  readonly cacheBytesMax: number;
  readonly stages: StageTimes;
  readonly tracer?: Tracer | undefined;
  readonly shuffle: 'memory' | 'topic';
  readonly isStopping: () => boolean;
};
