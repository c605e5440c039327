import type { Place } from '../base/place.ts';
import type { Column } from '../data/types.ts';
import type { Constraint, FlowBody, Name, Query } from '../sql/ast.ts';
import { nameKey, nameText } from './bind/names.ts';
import { type FaultList, planFault } from './faults.ts';
import type { OptionValues } from './options.ts';
import { hiddenColumns, type SourceFormat, type SourcePlan } from './pipeline-plan.ts';

export type SourceDataset = {
  readonly kind: 'source';
  readonly name: string;
  readonly place: Place;
  readonly plan: SourcePlan;
  /** How many of the plan's columns are declared; the hidden ones follow. */
  readonly declared: number;
  /** Its columns could not be read: what reads it says no more. */
  readonly broken: boolean;
  /** Those of its columns whose type could not be read. */
  readonly brokenColumns: ReadonlySet<Column>;
};

/** What flows write. A sink is a table that the pipeline does not own: it only appends to its topic. */
export type TableDataset = {
  readonly kind: 'table' | 'sink';
  readonly name: string;
  readonly place: Place;
  readonly topic: string;
  /** undefined: the query's columns; `broken`: declared, and not readable. */
  readonly columns: readonly Column[] | 'broken' | undefined;
  readonly constraints: readonly Constraint[];
  readonly options: OptionValues;
};

export type ViewDataset = {
  readonly kind: 'view';
  readonly name: string;
  readonly place: Place;
  readonly constraints: readonly Constraint[];
  readonly query: Query;
};

export type MaterializedViewDataset = {
  readonly kind: 'materialized view';
  readonly name: string;
  readonly place: Place;
  readonly topic: string;
  readonly query: Query;
  readonly constraints: readonly Constraint[];
  readonly options: OptionValues;
};

export type Dataset = SourceDataset | TableDataset | ViewDataset | MaterializedViewDataset;

/** One flow as it was declared, whichever of the spellings it had. */
export type FlowDeclaration = {
  readonly name: string;
  readonly namePlace: Place;
  readonly target: Name;
  readonly body: FlowBody;
  /** `CREATE STREAMING TABLE t … AS SELECT`: BY NAME is not asked for. */
  readonly isPlainDefault: boolean;
  readonly place: Place;
};

/** The columns of topics that the pipeline itself does not declare. */
export type Schemas = ReadonlyMap<string, readonly Column[]>;

/**
 * Everything that the statements of a pipeline name. Invariant: a name stands for one dataset at most,
 * whatever its case; the first declaration holds and each later one is a fault.
 */
export class Catalog {
  readonly #datasets = new Map<string, Dataset>();
  readonly #schemas: Schemas;
  readonly flows: FlowDeclaration[] = [];
  timeZone = 'UTC';

  constructor(schemas: Schemas) {
    this.#schemas = schemas;
  }

  get datasets(): Iterable<Dataset> {
    return this.#datasets.values();
  }

  declare(dataset: Dataset, name: Name, faults: FaultList): void {
    const key = nameKey(dataset.name);
    const before = this.#datasets.get(key);
    if (before === undefined) {
      this.#datasets.set(key, dataset);
      return;
    }
    faults.add(
      planFault('NAME_TAKEN', `the name "${dataset.name}" is taken`, name.place, {
        detail: `The ${nounOf(before)} "${before.name}" stands at ${placeText(before.place)}. Sources, tables, views and sinks share their names, whatever the case.`,
        hint: 'Rename one of them.',
      }),
    );
  }

  /** What a name stands for. `live.t` is the old way to write `t`. */
  find(name: Name): Dataset | undefined {
    const text = nameText(name);
    const exact = this.#datasets.get(nameKey(text)) ?? this.#fromSchema(text, name.place);
    if (exact !== undefined) return exact;
    const [first, second] = name.parts;
    if (name.parts.length === 2 && first?.text.toLowerCase() === 'live' && second !== undefined) {
      return this.find({ parts: [second], place: name.place });
    }
    return undefined;
  }

  namesOf(kinds: readonly Dataset['kind'][]): readonly string[] {
    const names = [...this.#datasets.values()]
      .filter((dataset) => kinds.includes(dataset.kind))
      .map((dataset) => dataset.name);
    return kinds.includes('source') ? [...names, ...this.#schemas.keys()] : names;
  }

  schemaOf(topic: string): readonly Column[] | undefined {
    return this.#schemas.get(topic);
  }

  /** A topic whose columns were given from outside is a source by its own name. */
  #fromSchema(text: string, place: Place): SourceDataset | undefined {
    const topic = this.#schemas.has(text)
      ? text
      : [...this.#schemas.keys()].find((name) => nameKey(name) === nameKey(text));
    const columns = topic === undefined ? undefined : this.#schemas.get(topic);
    if (topic === undefined || columns === undefined) return undefined;
    const dataset: SourceDataset = {
      kind: 'source',
      name: topic,
      place,
      plan: sourcePlan(topic, topic, 'json', columns),
      declared: columns.length,
      broken: false,
      brokenColumns: new Set(),
    };
    this.#datasets.set(nameKey(topic), dataset);
    return dataset;
  }
}

export function isTarget(dataset: Dataset): dataset is TableDataset {
  return dataset.kind === 'table' || dataset.kind === 'sink';
}

export function nounOf(dataset: Dataset): string {
  return dataset.kind === 'table' ? 'streaming table' : dataset.kind;
}

export function placeText(place: Place): string {
  return `${place.file}:${place.line}:${place.column}`;
}

export function sourcePlan(
  name: string,
  topic: string,
  format: SourceFormat,
  columns: readonly Column[],
  tombstones: SourcePlan['tombstones'] = 'skip',
): SourcePlan {
  return { name, topic, format, columns: [...columns, ...hiddenColumns], tombstones };
}

/** The output topic of a table as a source: its rows are read back by the columns of the table. */
export function tableSourcePlan(
  { name, topic }: TableDataset,
  columns: readonly Column[],
): SourcePlan {
  const plain = columns.map((column) => ({ name: column.name, type: column.type }));
  return { ...sourcePlan(name, topic, 'json', plain), table: name };
}
