import { wholeSpan } from '../../data/bytes.ts';
import { provenanceTemplate } from '../../data/provenance.ts';
import { sequenceCodec } from '../../data/sequence.ts';
import { changeColumns } from '../../plan/flows/cdc-plan.ts';
import type { Slice } from '../../ports/log.ts';
import type { StateKey } from '../../ports/state-store.ts';
import { changeMerge } from '../../task/change-merge.ts';
import { ChangeTask } from '../../task/change-task.ts';
import { JoinTask } from '../../task/join-task.ts';
import { type JoinPlaces, placeOf } from '../../task/join-times.ts';
import type { KeyedTask } from '../../task/key/keyed-task.ts';
import { ChangeRestore, joinLevel, type RestoredKey } from '../../task/restore/restore-changes.ts';
import { Restore } from '../../task/restore/restore-entries.ts';
import { restoreKept } from '../../task/restore/restore-kept.ts';
import { LevelRestore } from '../../task/restore/restore-levels.ts';
import { restoreSifted } from '../../task/restore/restore-sifted.ts';
import { SiftTask } from '../../task/sift-task.ts';
import { TableTask } from '../../task/table-task.ts';
import type { TimeRuns } from '../../task/time-runs.ts';
import {
  type CdcTableFacts,
  isJoining,
  isSifting,
  type JoinFlowFacts,
  type KeyedFlowFacts,
  type SiftFlowFacts,
} from '../inspect/flow-facts.ts';
import { swapTest } from '../takeover/generation.ts';

/** What a slice of a table's topic changes in the state, once the present entries of some keys are known. */
export type RestoreStep = {
  readonly keysNeeded: readonly StateKey[];
  readonly records: number;
  /** `present` answers `keysNeeded`, by position; undefined deletes the key. */
  readonly apply: (
    present: readonly (Buffer | undefined)[],
  ) => ReadonlyMap<StateKey, Buffer | undefined>;
};

export function isChanging(facts: KeyedFlowFacts): facts is CdcTableFacts {
  return facts.flow.kind === 'auto_cdc';
}

function mergeOf({ flow, table }: CdcTableFacts) {
  const names = changeColumns(flow, table).map(({ name }) => name);
  return changeMerge(names, flow.tracked);
}

type TaskOptions = {
  readonly cacheBytesMax: number;
  readonly times?: TimeRuns | undefined;
};

/** The task that keeps one partition of a table, by what its flows do. */
export function tableTask(
  facts: KeyedFlowFacts,
  partition: number,
  { cacheBytesMax, times }: TaskOptions,
): KeyedTask {
  const { table, output, generation, outputRecordBytesMax } = facts;
  const target = {
    table: table.name,
    topic: output.topic,
    partition,
    generation,
    recordBytesMax: outputRecordBytesMax,
    marksFirst: table.marksFirst === true,
  };
  if (isJoining(facts)) {
    return new JoinTask({
      target: { ...target, changelog: facts.levels.topic },
      join: facts.flow.join,
      columns: table.columns,
      places: placesOf(facts),
      timeZone: facts.timeZone,
      rowsMax: table.rowSetRowsMax,
      cacheBytesMax,
      times,
    });
  }
  if (isSifting(facts)) {
    const { distinct, limit } = facts.flow;
    return new SiftTask({ target, distinct, limit, cacheBytesMax, times });
  }
  if (isChanging(facts)) {
    const merge = mergeOf(facts);
    const historyNames = table.columns.slice(merge.names.length).map(({ name }) => name);
    const { sequenceType } = facts.flow;
    return new ChangeTask({
      target: { ...target, levelsTopic: facts.levels.topic, sequenceType, historyNames },
      merge,
      historyRowsMax: table.rowSetRowsMax,
      cacheBytesMax,
      times,
    });
  }
  return new TableTask({
    target: {
      ...target,
      distinct: facts.flow.distinct,
      writeSequence: sequenceCodec(facts.flow.sequenceType).writeText,
      levelsTopic: facts.levels?.topic,
    },
    output: table.output,
    rowSetRowsMax: table.rowSetRowsMax,
    limit: facts.flow.limit,
    cacheBytesMax,
    times,
  });
}

/** The source partitions that the rows of each side come from. */
function placesOf({ flow, sources }: JoinFlowFacts): JoinPlaces {
  const placesWhere = (isMeant: (branch: number) => boolean): readonly string[] =>
    sources
      .filter(({ branches }) => branches.some(({ branch }) => isMeant(branch)))
      .flatMap(({ topicId, partitions }) =>
        Array.from({ length: partitions }, (_, partition) =>
          placeOf(wholeSpan(provenanceTemplate(topicId, partition, 0))),
        ),
      );
  return {
    left: placesWhere((branch) => branch < flow.leftBranches),
    right: placesWhere((branch) => branch >= flow.leftBranches),
  };
}

/** How records of the topic that the state follows become its entries. */
export function outputSteps(
  facts: KeyedFlowFacts,
  partition: number,
): (slice: Slice) => RestoreStep {
  if (isJoining(facts)) return (slice) => wholeEntries(restoreKept(slice, facts.generation));
  if (isSifting(facts)) return (slice) => wholeEntries(restoreSifted(slice));
  const sequence = sequenceCodec(facts.flow.sequenceType);
  if (isChanging(facts)) {
    const restoring = new ChangeRestore(sequence.parse);
    return (slice) => wholeEntries(restoring.load(slice));
  }
  const restoring = new Restore({
    output: facts.table.output,
    distinct: facts.flow.distinct,
    sequence,
    isSwapped: swapTest(facts.swaps, partition),
  });
  return (slice) => {
    const changes = restoring.load(slice);
    const keysNeeded = restoring.keysNeeded(changes);
    return {
      keysNeeded,
      records: changes.length,
      apply: (present) => restoring.apply(changes, keysNeeded, present),
    };
  };
}

/** Of topics whose records each say all there is to say of their key. */
function wholeEntries(keys: readonly RestoredKey[]): RestoreStep {
  const apply = () => new Map(keys.map(({ key, entry }) => [key, entry]));
  return { keysNeeded: [], records: keys.length, apply };
}

/** How records of the levels topic add to the state that the output topic gave. */
export function levelSteps(
  facts: Exclude<KeyedFlowFacts, JoinFlowFacts | SiftFlowFacts>,
): (slice: Slice) => RestoreStep {
  const parseSequence = sequenceCodec(facts.flow.sequenceType).parse;
  if (isChanging(facts)) {
    const restoring = new ChangeRestore(parseSequence);
    const merge = mergeOf(facts);
    return (slice) => {
      const levels = restoring.load(slice).filter(({ entry }) => entry !== undefined);
      return {
        keysNeeded: levels.map(({ key }) => key),
        records: levels.length,
        apply: (present) =>
          new Map(levels.map(({ key, entry }, at) => [key, joinLevel(merge, present[at], entry)])),
      };
    };
  }
  const restoring = new LevelRestore(parseSequence);
  return (slice) => {
    const changes = restoring.load(slice);
    return {
      keysNeeded: changes.map(({ key }) => key),
      records: changes.length,
      apply: (present) =>
        new Map(restoring.apply(changes, present).map(({ key, entry }) => [key, entry])),
    };
  };
}
