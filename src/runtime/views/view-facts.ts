import type { MaterializedViewPlan, TablePlan } from '../../plan/pipeline-plan.ts';
import type { TopicFacts } from '../inspect/flow-facts.ts';
import type { InputFacts } from './read-input-rows.ts';

/** What the runtime knows of one materialized view before it is computed. */
export type ViewFacts = {
  readonly view: MaterializedViewPlan;
  readonly table: TablePlan;
  readonly group: string;
  readonly output: TopicFacts;
  readonly outputRecordBytesMax: number;
  readonly inputs: readonly InputFacts[];
  /** The table itself, whose rows are the flow's own; undefined of a materialized view. */
  readonly kept: InputFacts | undefined;
  /** How often the table was refreshed fully, as far as the process knew when it started. */
  readonly generation: number;
  readonly timeZone: string;
  /** The pipeline's catalog: whoever has its partition in the view's group computes the view. */
  readonly catalogTopic: string;
};
