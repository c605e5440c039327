import type {
  AppendFlowPlan,
  OutputMode,
  ReplaceUsingFlowPlan,
  SourcePlan,
  TablePlan,
} from '../plan/pipeline-plan.ts';

/** What the runtime knows of one flow before it runs: its plan with the topics as they are on the log. */
export type FlowFacts = ReplaceFlowFacts | AppendFlowFacts;

export type ReplaceFlowFacts = SharedFacts & {
  readonly flow: ReplaceUsingFlowPlan;
  readonly repartition: TopicFacts;
  /** Where the levels of empty keys are; undefined where no key can be empty. */
  readonly levels: TopicFacts | undefined;
};

/** Its rows go straight to the output topic: there is no second stage. */
export type AppendFlowFacts = SharedFacts & {
  readonly flow: AppendFlowPlan;
  readonly repartition: undefined;
  readonly levels: undefined;
};

type SharedFacts = {
  readonly table: TablePlan;
  /** How often the table was refreshed fully. */
  readonly generation: number;
  /** What refreshes wrote into the output topic. */
  readonly swaps: readonly SwapRange[];
  readonly group: string;
  readonly sources: readonly SourceFacts[];
  /** What its joins look up, each source once. */
  readonly statics: readonly StaticFacts[];
  readonly output: TopicFacts;
  readonly deadLetter: TopicFacts | undefined;
  /** The largest record that the output topic takes, in bytes. */
  readonly outputRecordBytesMax: number;
  readonly timeZone: string;
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
};
