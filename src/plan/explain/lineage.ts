import { indexLevels } from '../batch/index-levels.ts';
import { type FaultList, notSupportedYet } from '../faults.ts';
import type { BranchPlan, FlowPlan, SourcePlan } from '../pipeline-plan.ts';

/** What the provenance of a row has room for along a chain of tables (`data/provenance.ts`). */
export const chainedBranchesMax = 16;
const generatorsMax = 2;

/** What a row that comes out of a table or a branch may carry in its provenance. */
type Lineage = {
  /** Values of the branch byte. */
  readonly branches: number;
  /** Generators that its index counts. */
  readonly generators: number;
};

const ofSource: Lineage = { branches: 1, generators: 0 };

/**
 * Checks that rows keep an identity of their own on their way from table to table: only then can a REPLACE USING
 * flow at the end tell a row that is read again from another one. Invariant: two rows that reach such a flow
 * have one provenance exactly when they are one row.
 */
export function checkLineage(
  sources: readonly SourcePlan[],
  flows: readonly FlowPlan[],
  faults: FaultList,
): void {
  const judge = new LineageJudge(sources, flows, faults);
  for (const flow of flows) judge.check(flow);
}

class LineageJudge {
  readonly #sources: ReadonlyMap<string, SourcePlan>;
  readonly #flows: readonly FlowPlan[];
  readonly #faults: FaultList;
  readonly #known = new Map<string, Lineage>();

  constructor(sources: readonly SourcePlan[], flows: readonly FlowPlan[], faults: FaultList) {
    this.#sources = new Map(sources.map((source) => [source.name, source]));
    this.#flows = flows;
    this.#faults = faults;
  }

  check(flow: FlowPlan): void {
    const tables = flow.branches.flatMap((branch) => this.#tableOf(branch) ?? []);
    if (tables.length === 0) return;
    const { branches, generators } = this.#flowLineage(flow);
    if (branches > chainedBranchesMax ** 2 || this.#isTooWide(flow)) {
      const what = `a union over tables that are unions over tables, or of more than ${chainedBranchesMax} streams,`;
      this.#faults.add(notSupportedYet(what, flow.place));
    }
    if (generators > generatorsMax) {
      const what = `more than ${generatorsMax} generators on the way from a source through tables`;
      this.#faults.add(notSupportedYet(what, flow.place));
    }
    if (flow.kind === 'replace_using') {
      for (const table of this.#upstream(tables)) this.#checkTwins(table, flow);
    }
  }

  #isTooWide({ branches }: FlowPlan): boolean {
    if (branches.length === 1) return false;
    const widths = branches.map((branch) => this.#branchLineage(branch).branches);
    return [branches.length, ...widths].some((width) => width > chainedBranchesMax);
  }

  #tableOf({ source }: BranchPlan): string | undefined {
    return this.#sources.get(source)?.table;
  }

  #isJoin(table: string): boolean {
    return this.#writersOf(table).some(({ kind }) => kind === 'join');
  }

  #writersOf(table: string): readonly FlowPlan[] {
    return this.#flows.filter(({ target }) => target === table);
  }

  #tableLineage(table: string): Lineage {
    const known = this.#known.get(table);
    if (known !== undefined) return known;
    this.#known.set(table, ofSource);
    // A joined row has an identity of its own, made of those of both its sides.
    if (this.#isJoin(table)) return ofSource;
    const all = this.#writersOf(table).map((flow) => this.#flowLineage(flow));
    const lineage = {
      branches: Math.max(1, ...all.map(({ branches }) => branches)),
      generators: Math.max(0, ...all.map(({ generators }) => generators)),
    };
    this.#known.set(table, lineage);
    return lineage;
  }

  #flowLineage({ branches }: FlowPlan): Lineage {
    const all = branches.map((branch) => this.#branchLineage(branch));
    const inner = Math.max(...all.map((one) => one.branches));
    const isChained = branches.some((branch) => this.#tableOf(branch) !== undefined);
    const width =
      branches.length === 1 ? inner : branches.length * (isChained ? chainedBranchesMax : 1);
    return { branches: width, generators: Math.max(...all.map(({ generators }) => generators)) };
  }

  #branchLineage(branch: BranchPlan): Lineage {
    const table = this.#tableOf(branch);
    const { branches, generators } = table === undefined ? ofSource : this.#tableLineage(table);
    const own = indexLevels(branch.steps);
    return { branches, generators: generators + own };
  }

  /** The tables and all that they are made of, each once. */
  #upstream(tables: readonly string[]): ReadonlySet<string> {
    const found = new Set(tables);
    for (const table of found) {
      if (this.#isJoin(table)) continue;
      for (const flow of this.#writersOf(table)) {
        for (const branch of flow.branches) {
          const next = this.#tableOf(branch);
          if (next !== undefined) found.add(next);
        }
      }
    }
    return found;
  }

  /** Two flows that bring rows of one record into a table give them one provenance. */
  #checkTwins(table: string, reader: FlowPlan): void {
    const owners = new Map<string, string>();
    for (const flow of this.#writersOf(table)) {
      for (const topic of this.#originsOf(flow)) {
        const before = owners.get(topic);
        if (before === undefined) owners.set(topic, flow.name);
        else if (before !== flow.name) {
          const what = `a REPLACE USING flow over table "${table}", into which flows "${before}" and "${flow.name}" both bring rows of topic "${topic}",`;
          const hint = 'Unite the queries of the two flows in one, with UNION ALL.';
          this.#faults.add(notSupportedYet(what, reader.place, hint));
          return;
        }
      }
    }
  }

  #originsOf(flow: FlowPlan): ReadonlySet<string> {
    const topics = new Set<string>();
    const direct = flow.branches.flatMap((branch) => this.#tableOf(branch) ?? []);
    const upstream = [...this.#upstream(direct)];
    for (const table of upstream) if (this.#isJoin(table)) topics.add(table);
    const writers = upstream
      .filter((table) => !this.#isJoin(table))
      .flatMap((table) => this.#writersOf(table));
    for (const { branches } of [flow, ...writers]) {
      for (const { source } of branches) {
        const plan = this.#sources.get(source);
        if (plan !== undefined && plan.table === undefined) topics.add(plan.topic);
      }
    }
    return topics;
  }
}
