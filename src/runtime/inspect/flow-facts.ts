import type {
  AppendFlowPlan,
  AutoCdcFlowPlan,
  JoinFlowPlan,
  OutputMode,
  ReplaceUsingFlowPlan,
  SiftFlowPlan,
  SourcePlan,
  TablePlan,
} from '../../plan/pipeline-plan.ts';
import type { InputFacts } from '../views/read-input-rows.ts';

/** What the runtime knows of one flow before it runs: its plan with the topics as they are on the log. */
export type FlowFacts =
  | ReplaceFlowFacts
  | AppendFlowFacts
  | CdcFlowFacts
  | JoinFlowFacts
  | SiftFlowFacts;

/** A flow that has a table stage: it merges what stands in its repartition topic. */
export type KeyedFlowFacts = ReplaceFlowFacts | CdcTableFacts | JoinFlowFacts | SiftFlowFacts;

export type ReplaceFlowFacts = SharedFacts & {
  readonly flow: ReplaceUsingFlowPlan;
  readonly repartition: TopicFacts;
  /** Where the levels of empty keys are; undefined where no key can be empty. */
  readonly levels: TopicFacts | undefined;
};

/**
 * An AUTO CDC flow. Several feed one repartition topic, that of their table; the flow of the table's own name merges
 * what stands there.
 */
export type CdcFlowFacts = SharedFacts & {
  readonly flow: AutoCdcFlowPlan;
  readonly feeds: TopicFacts;
  /** undefined: another flow has the table stage. */
  readonly repartition: TopicFacts | undefined;
  readonly levels: TopicFacts | undefined;
};

export type CdcTableFacts = CdcFlowFacts & {
  readonly repartition: TopicFacts;
  readonly levels: TopicFacts;
};

/** A join of two streams: its state is not what its output topic holds, so another topic is the changelog. */
export type JoinFlowFacts = SharedFacts & {
  readonly flow: JoinFlowPlan;
  readonly repartition: TopicFacts;
  /** Where the kept rows of both sides are. */
  readonly levels: TopicFacts;
};

/** DISTINCT and LIMIT of an append flow: what was let through stands in the output topic. */
export type SiftFlowFacts = SharedFacts & {
  readonly flow: SiftFlowPlan;
  readonly repartition: TopicFacts;
  readonly levels: undefined;
};

/** Its rows go straight to the output topic: there is no second stage. */
export type AppendFlowFacts = SharedFacts & {
  readonly flow: AppendFlowPlan;
  readonly repartition: undefined;
  readonly levels: undefined;
};

/** Topics that a flow itself writes. */
export function writtenBy(facts: FlowFacts): readonly string[] {
  const feed = feedOf(facts);
  const isFeeder = feed !== undefined && facts.repartition === undefined;
  const topics = [feed, facts.deadLetter, ...(isFeeder ? [] : [facts.output, facts.levels])];
  return topics.flatMap((one) => one?.topic ?? []);
}

/** Where the rows of a flow meet those of their key; undefined: they need not meet. */
export function feedOf(facts: FlowFacts): TopicFacts | undefined {
  return 'feeds' in facts ? facts.feeds : facts.repartition;
}

export function isJoining(facts: FlowFacts): facts is JoinFlowFacts {
  return facts.flow.kind === 'join';
}

/** Whether the pipeline itself writes a topic that this flow reads: the one between its stages, or a table's. */
export function isOwnTopic({ repartition, sources }: FlowFacts, topic: string): boolean {
  return topic === repartition?.topic || sources.some((one) => one.isTable && one.topic === topic);
}

export function isSifting(facts: FlowFacts): facts is SiftFlowFacts {
  return facts.flow.kind === 'sift';
}

/** The topic that the state of a table stage follows. */
export function stateTopicOf(facts: FlowFacts): TopicFacts {
  return isJoining(facts) ? facts.levels : facts.output;
}

/** Whether the rows of a key replace each other. */
export function isReplacing(facts: FlowFacts): facts is ReplaceFlowFacts {
  return facts.flow.kind === 'replace_using';
}

/** The same facts where the flow has a table stage. */
export function keyedFacts(facts: FlowFacts): KeyedFlowFacts | undefined {
  if (facts.repartition === undefined) return undefined;
  if (!('feeds' in facts)) return facts;
  const { repartition, levels } = facts;
  return levels === undefined ? undefined : { ...facts, repartition, levels };
}

/** Up to where a flow that runs once reads: the ends of its sources when it started first. */
export type OncePins = {
  /** All of it was read and committed: nothing of it is read again, whatever becomes of checkpoints and sources. */
  readonly isDone: boolean;
  /** Topic → end of each partition. */
  readonly ends: ReadonlyMap<string, readonly number[]>;
};

/** The result of a batch query, with what that reads. */
export type ComputedSource = {
  readonly source: SourcePlan;
  readonly inputs: readonly InputFacts[];
};

type SharedFacts = {
  readonly table: TablePlan;
  /** How often the table was refreshed fully. */
  readonly generation: number;
  /** What refreshes wrote into the output topic. */
  readonly swaps: readonly SwapRange[];
  readonly group: string;
  /** Of a flow that runs once: up to where it reads its sources. */
  readonly once?: OncePins | undefined;
  /** Of a flow that runs once over all rows at once: what its query reads. */
  readonly computed: ComputedSource | undefined;
  readonly sources: readonly SourceFacts[];
  /** What its joins look up, each source once. */
  readonly statics: readonly StaticFacts[];
  readonly output: TopicFacts;
  readonly deadLetter: TopicFacts | undefined;
  /** The largest record that the output topic takes, in bytes. */
  readonly outputRecordBytesMax: number;
  readonly timeZone: string;
  /** Flows that bring rows of the same records into the table, and stand before it in the pipeline. */
  readonly twinsBefore: number;
};

/** Offsets of one partition of an output topic that a full refresh wrote, from the first to the one after the last. */
export type SwapRange = {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  /** Nothing before its end counts any more. */
  readonly isStart: boolean;
};

export type TopicFacts = {
  readonly topic: string;
  readonly topicId: string;
  readonly partitions: number;
  /** The largest record that a topic between the stages takes, in bytes. */
  readonly recordBytesMax?: number | undefined;
};

/** A source that static sides of a flow read. */
export type StaticFacts = {
  readonly source: SourcePlan;
  /** How it is written where it is a table of the pipeline. */
  readonly output: OutputMode | undefined;
};

/** A source topic, with every branch of the query that reads it. */
export type SourceFacts = TopicFacts & {
  readonly branches: readonly { readonly branch: number; readonly source: SourcePlan }[];
  /** It is the output topic of a table of the pipeline. */
  readonly isTable: boolean;
  /** The flows that write that table; none where a refresh of it is not minded. */
  readonly writers?: readonly string[];
};
