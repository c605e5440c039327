import type { ViewDefinition } from '../plan/flows/view-definition.ts';
import { alternatives, successionAlternatives } from './alternatives.ts';
import { flowChanges, isOtherForm, needsRefresh } from './changes.ts';
import type { Gap } from './continuity.ts';
import type { DeployedFlow } from './deployed-flow.ts';
import type { FlowChange } from './flow-change.ts';
import { successionChanges } from './succession-changes.ts';
import { keptRowChanges, type ViewChange, viewChanges } from './view-changes.ts';

export type NamedFlow = { readonly name: string; readonly definition: DeployedFlow };

export type PlannedFlow = NamedFlow & {
  /** It writes a sink. */
  readonly isSink?: boolean;
  /** It runs once, and has read all that there was. */
  readonly isDone?: boolean;
};

export type NamedView = { readonly name: string; readonly definition: ViewDefinition };

export type WantedTopicFacts = {
  readonly name: string;
  readonly role: string;
  readonly flow: string | undefined;
  readonly partitions: number;
  /** Whether the definition asks for this count, or takes what is there. */
  readonly isDeclared: boolean;
  /** undefined: it does not exist. */
  readonly existing: number | undefined;
};

export type DeploymentFacts = {
  /** As the files say. */
  readonly flows: readonly PlannedFlow[];
  /** As the catalog remembers. */
  readonly deployed: readonly NamedFlow[];
  /** Materialized views, as the files say and as the catalog remembers. */
  readonly views: readonly NamedView[];
  readonly deployedViews: readonly NamedView[];
  readonly topics: readonly WantedTopicFacts[];
  /** Flow → what keeps it from going on from its checkpoints. */
  readonly gaps: ReadonlyMap<string, readonly Gap[]>;
};

/**
 * - `new`: it starts from the earliest records.
 * - `unchanged`, `compatible`: it goes on from its checkpoint.
 * - `refresh`: its rows contradict the new definition; `run` refuses.
 * - `gone`: it is in the catalog only; its checkpoint and its rows stay.
 */
export type FlowStatus = 'new' | 'unchanged' | 'compatible' | 'refresh' | 'gone';

export type FlowVerdict = {
  readonly flow: string;
  readonly table: string;
  readonly status: FlowStatus;
  readonly changes: readonly FlowChange[];
  /** FR-23, FR-29, FR-30: the source or the checkpoint is not what it was. */
  readonly gaps: readonly (Gap & { readonly reason: string })[];
  /** A flow that is gone and has the same query. */
  readonly renamedFrom: { readonly flow: string; readonly carry: boolean } | undefined;
  /** What can be done where `run` refuses. */
  readonly alternatives: readonly string[];
  /** It runs once, and did so. */
  readonly done?: true;
};

export type TopicVerdict = {
  readonly topic: string;
  readonly role: string;
  readonly action: 'create' | 'keep' | 'conflict';
  readonly partitions: number;
  readonly existing: number | null;
};

/** A materialized view is never refused: what changed is computed anew. */
export type ViewVerdict = {
  readonly view: string;
  /** `refused`: a REPLACE WHERE flow that keeps rows which another definition wrote. */
  readonly status: 'new' | 'unchanged' | 'recomputed' | 'refused' | 'gone';
  readonly changes: readonly (ViewChange | FlowChange)[];
};

export type DeploymentPlan = {
  readonly flows: readonly FlowVerdict[];
  readonly views: readonly ViewVerdict[];
  readonly topics: readonly TopicVerdict[];
};

/** What `run` would change, and what it would refuse. Facts in, verdicts out; nothing is done. */
export function deploymentPlan(facts: DeploymentFacts): DeploymentPlan {
  const { flows, deployed } = facts;
  const names = new Set(flows.map(({ name }) => name));
  const gone = deployed.filter(({ name }) => !names.has(name));
  return {
    flows: [
      ...flows.map((flow) => verdict(flow, facts, gone)),
      ...gone.map(
        ({ name, definition }): FlowVerdict => ({
          flow: name,
          table: definition.target,
          status: 'gone',
          changes: [],
          gaps: [],
          renamedFrom: undefined,
          alternatives: [],
        }),
      ),
    ],
    views: viewVerdicts(facts),
    topics: facts.topics.map(topicVerdict),
  };
}

function viewVerdicts({ views, deployedViews }: DeploymentFacts): readonly ViewVerdict[] {
  const names = new Set(views.map(({ name }) => name));
  return [
    ...views.map(({ name, definition }): ViewVerdict => {
      const before = deployedViews.find((one) => one.name === name)?.definition;
      const kept = keptChanges(definition, before, deployedViews);
      if (kept.length > 0) return { view: name, status: 'refused', changes: kept };
      if (before === undefined) return { view: name, status: 'new', changes: [] };
      const changes = viewChanges(before, definition);
      return { view: name, status: changes.length > 0 ? 'recomputed' : 'unchanged', changes };
    }),
    ...deployedViews
      .filter(({ name }) => !names.has(name))
      .map(({ name }): ViewVerdict => ({ view: name, status: 'gone', changes: [] })),
  ];
}

/** Of the rows that a REPLACE WHERE flow keeps, whatever its name was when they were written. */
function keptChanges(
  { keeps }: ViewDefinition,
  before: ViewDefinition | undefined,
  deployed: readonly NamedView[],
): readonly FlowChange[] {
  if (keeps === undefined) return [];
  const isSame = (one: ViewDefinition | undefined): boolean => one?.keeps?.table === keeps.table;
  const last = isSame(before) ? before : deployed.find((one) => isSame(one.definition))?.definition;
  return keptRowChanges(last?.keeps?.columns ?? [], keeps.columns);
}

function verdict(
  { name, definition, isSink = false, isDone = false }: PlannedFlow,
  { deployed, gaps, topics }: DeploymentFacts,
  gone: readonly NamedFlow[],
): FlowVerdict {
  const before = deployed.find((one) => one.name === name)?.definition;
  const found = (gaps.get(name) ?? []).map((gap) => ({ ...gap, reason: reasonOf(gap) }));
  const base = { flow: name, table: definition.target, gaps: found };
  if (before === undefined) {
    const twin = gone.find((one) => one.definition.fingerprint === definition.fingerprint);
    const refused = twin === undefined ? refusedSuccession(definition, gone) : undefined;
    if (refused !== undefined) return { ...base, ...refused };
    return {
      ...base,
      status: 'new',
      changes: [],
      renamedFrom:
        twin === undefined
          ? undefined
          : { flow: twin.name, carry: twin.definition.topic === definition.topic },
      alternatives: [],
    };
  }
  const ofPartitions = topics.flatMap((topic) =>
    topic.flow === name ? partitionChange(topic) : [],
  );
  const changes = [...flowChanges(before, definition), ...ofPartitions];
  const otherForm = isOtherForm(before, definition)
    ? 'mode'
    : ofPartitions.length > 0
      ? 'partitions'
      : undefined;
  const isRefused = needsRefresh(changes);
  return {
    ...base,
    status: isRefused ? 'refresh' : changes.length > 0 ? 'compatible' : 'unchanged',
    changes,
    renamedFrom: undefined,
    ...(isDone && !isRefused ? { done: true } : {}),
    alternatives: isRefused
      ? alternatives(changes, {
          flow: name,
          table: definition.target,
          kind: definition.definition.kind,
          isSink,
          canBeSucceeded: successionChanges(before, definition).length === 0,
          otherForm,
        })
      : [],
  };
}

const keyedKinds: readonly string[] = ['replace_using', 'auto_cdc'];

/** A flow of another name whose rows would never meet those of the one that is gone, where that alone wrote the table. */
function refusedSuccession(
  definition: DeployedFlow,
  gone: readonly NamedFlow[],
): Pick<FlowVerdict, 'status' | 'changes' | 'renamedFrom' | 'alternatives'> | undefined {
  const isKeyed = ({ definition: one }: NamedFlow): boolean =>
    one.topic === definition.topic && keyedKinds.includes(one.definition.kind);
  const [writer, ...others] = gone.filter(isKeyed);
  if (writer === undefined || others.length > 0) return undefined;
  if (!keyedKinds.includes(definition.definition.kind)) return undefined;
  const changes = successionChanges(writer.definition, definition);
  if (changes.length === 0) return undefined;
  return {
    status: 'refresh',
    changes,
    renamedFrom: undefined,
    alternatives: successionAlternatives(
      writer.name,
      definition.target,
      isOtherForm(writer.definition, definition),
    ),
  };
}

function partitionChange({ role, name, partitions, existing, isDeclared }: WantedTopicFacts) {
  if (role !== 'output' || !isDeclared || existing === undefined || existing === partitions) {
    return [];
  }
  return [
    {
      id: 'FR-19',
      effect: 'refresh',
      text: `Topic "${name}" has ${existing} partitions, and ${partitions} are declared: the rows of a key would be in two places.`,
    } as const,
  ];
}

function reasonOf({ kind }: Gap): string {
  switch (kind) {
    case 'recreated':
      return 'FR-23';
    case 'moved':
      return 'FR-22';
    case 'expired':
    case 'shrunk':
    case 'rows_gone':
    case 'dead_letters_gone':
      return 'FR-29';
    case 'checkpoint_lost':
      return 'FR-30';
    case 'refreshed':
      return 'FR-08';
  }
}

function topicVerdict(topic: WantedTopicFacts): TopicVerdict {
  const { name, role, partitions, existing, isDeclared } = topic;
  const isConflict = existing !== undefined && isDeclared && existing !== partitions;
  return {
    topic: name,
    role,
    action: existing === undefined ? 'create' : isConflict ? 'conflict' : 'keep',
    partitions: existing !== undefined && !isConflict ? existing : partitions,
    existing: existing ?? null,
  };
}
