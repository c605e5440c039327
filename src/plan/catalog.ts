import type { Place } from '../base/place.ts';
import type { Column } from '../data/types.ts';
import { zoneOf } from '../data/zones.ts';
import type {
  ColumnDefinition,
  Constraint,
  FlowBody,
  Identifier,
  Name,
  Query,
  Statement,
  TableBody,
} from '../sql/ast.ts';
import { type FaultList, notSupportedYet, planFault, planWarning } from './faults.ts';
import { nameHint } from './name-hint.ts';
import { nameKey, nameText, topicNameFault } from './names.ts';
import { checkClauses, type Given, type OptionValues, readOptions } from './options.ts';
import { hiddenColumns, type SourceFormat, type SourcePlan } from './pipeline-plan.ts';
import { resolveType } from './resolve-type.ts';

export type SourceDataset = {
  readonly kind: 'source';
  readonly name: string;
  readonly place: Place;
  readonly plan: SourcePlan;
  /** How many of the plan's columns are declared; the hidden ones follow. */
  readonly declared: number;
  /** Its columns could not be read: what reads it says no more. */
  readonly broken: boolean;
};

export type TableDataset = {
  readonly kind: 'table';
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
  readonly query: Query;
};

export type OtherDataset = {
  readonly kind: 'materialized view' | 'sink';
  readonly name: string;
  readonly place: Place;
  readonly query: Query | undefined;
};

export type Dataset = SourceDataset | TableDataset | ViewDataset | OtherDataset;

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
    };
    this.#datasets.set(nameKey(topic), dataset);
    return dataset;
  }
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

/** Reads all statements into one catalog; the faults of declarations are found here. */
export function buildCatalog(
  statements: readonly Statement[],
  schemas: Schemas,
  faults: FaultList,
): Catalog {
  const catalog = new Catalog(schemas);
  const settings = new Map<string, string>();
  for (const statement of statements) addStatement(catalog, statement, settings, faults);
  checkFlowNames(catalog, faults);
  checkTopics(catalog, faults);
  return catalog;
}

function addStatement(
  catalog: Catalog,
  statement: Statement,
  settings: Map<string, string>,
  faults: FaultList,
): void {
  switch (statement.node) {
    case 'create_source':
      catalog.declare(readSource(statement, catalog, faults), statement.name, faults);
      break;
    case 'create_streaming_table':
      addTable(catalog, statement, faults);
      break;
    case 'create_view':
      addView(catalog, statement, faults);
      break;
    case 'create_materialized_view':
    case 'create_sink':
      addOther(catalog, statement, faults);
      break;
    case 'create_flow':
      catalog.flows.push({
        name: nameText(statement.name),
        namePlace: statement.name.place,
        target: statement.target,
        body: statement.body,
        isPlainDefault: false,
        place: statement.place,
      });
      break;
    case 'apply_changes':
      catalog.flows.push({
        name: nameText(statement.target),
        namePlace: statement.target.place,
        target: statement.target,
        body: { node: 'auto_cdc', cdc: statement.cdc, place: statement.place },
        isPlainDefault: false,
        place: statement.place,
      });
      break;
    case 'set':
      addSetting(catalog, statement, settings, faults);
      break;
    case 'query':
      faults.add(
        planFault('STATEMENT_REFUSED', 'a query without a target does nothing', statement.place, {
          hint: 'Give it a target: CREATE STREAMING TABLE t FLOW REPLACE USING (…) SEQUENCE BY … BY NAME SELECT … .',
        }),
      );
      break;
    case 'foreign':
      faults.add(
        planFault(
          'STATEMENT_REFUSED',
          `${statement.clause.clause.toUpperCase()} has no place in a pipeline`,
          statement.place,
          {
            hint: 'A pipeline consists of CREATE SOURCE, STREAMING TABLE, FLOW, VIEW, MATERIALIZED VIEW and SINK, and of SET.',
          },
        ),
      );
  }
}

type CreateTable = Extract<Statement, { node: 'create_streaming_table' }>;

function addTable(catalog: Catalog, statement: CreateTable, faults: FaultList): void {
  const name = nameText(statement.name);
  const { body, flow } = statement;
  checkClauses(body, faults);
  const options = readOptions({ noun: 'streaming table', name }, body, faults);
  const topic = topicOf(name, options.text('topic'), statement.name.place, faults);
  checkConstraintNames(body.constraints, faults);
  const columns = body.columns.length === 0 ? undefined : readColumns(body.columns, faults);
  const place = statement.name.place;
  catalog.declare(
    { kind: 'table', name, place, topic, columns, constraints: body.constraints, options },
    statement.name,
    faults,
  );
  if (flow === undefined) return;
  const isPlainDefault =
    flow.node === 'insert' && flow.replaceUsing === undefined && flow.replaceWhere === undefined;
  catalog.flows.push({
    name,
    namePlace: place,
    target: statement.name,
    body: flow,
    isPlainDefault,
    place: flow.place,
  });
}

function addView(
  catalog: Catalog,
  statement: Extract<Statement, { node: 'create_view' }>,
  faults: FaultList,
): void {
  const [constraint] = statement.body.constraints;
  if (constraint !== undefined) {
    const hint = 'Declare the expectation on the table that reads the view.';
    faults.add(notSupportedYet('an expectation on a view', constraint.place, hint));
  }
  const [column] = statement.body.columns;
  if (column !== undefined) {
    const hint = 'Name the columns in the query: SELECT … AS name.';
    faults.add(notSupportedYet('a column list of a view', column.place, hint));
  }
  checkClauses(statement.body, faults);
  const { name, query } = statement;
  catalog.declare({ kind: 'view', name: nameText(name), place: name.place, query }, name, faults);
}

function addOther(
  catalog: Catalog,
  statement: Extract<Statement, { node: 'create_materialized_view' | 'create_sink' }>,
  faults: FaultList,
): void {
  const isView = statement.node === 'create_materialized_view';
  const kind = isView ? 'materialized view' : 'sink';
  const { name } = statement;
  const query = isView ? statement.query : undefined;
  catalog.declare({ kind, name: nameText(name), place: name.place, query }, name, faults);
  faults.add(notSupportedYet(`a ${kind}`, name.place));
}

// ---------------------------------------------------------------- sources

type CreateSource = Extract<Statement, { node: 'create_source' }>;

function readSource(statement: CreateSource, catalog: Catalog, faults: FaultList): SourceDataset {
  const name = nameText(statement.name);
  const { body } = statement;
  const { place } = statement.name;
  const options = readOptions({ noun: 'source', name }, body, faults);
  checkClauses(body, faults);
  for (const constraint of body.constraints) {
    faults.add(
      planFault('SOURCE_CONSTRAINT', 'a source has no expectations', constraint.place, {
        hint: 'Declare the expectation on the streaming table that reads the source.',
      }),
    );
  }
  const topic = topicOf(name, options.text('topic'), place, faults);
  const formatText = options.text('format')?.value ?? 'json';
  const format: SourceFormat =
    formatText === 'string' || formatText === 'bytes' ? formatText : 'json';
  const tombstones = options.text('tombstones')?.value === 'bad' ? 'bad' : 'skip';
  const hasFormat =
    !body.options.some((o) => o.key.toLowerCase() === 'format') ||
    options.text('format') !== undefined;
  const columns = hasFormat
    ? sourceColumns({ name, topic, format, place }, body, catalog, faults)
    : readColumns(body.columns, faults);
  const read = columns === 'broken' ? [] : columns;
  warnOfShadows(read, body.columns, faults);
  return {
    kind: 'source',
    name,
    place,
    plan: sourcePlan(name, topic, format, read, tombstones),
    declared: read.length,
    broken: columns === 'broken' || !hasFormat,
  };
}

type SourceFacts = {
  readonly name: string;
  readonly topic: string;
  readonly format: SourceFormat;
  readonly place: Place;
};

function sourceColumns(
  source: SourceFacts,
  body: TableBody,
  catalog: Catalog,
  faults: FaultList,
): readonly Column[] | 'broken' {
  const { format, place } = source;
  if (format === 'json') {
    if (body.columns.length > 0) return readColumns(body.columns, faults);
    const known = catalog.schemaOf(source.topic);
    if (known !== undefined) return known;
    faults.add(undeclared(source.topic, place, `source "${source.name}" declares no columns`));
    return 'broken';
  }
  const type = format === 'string' ? 'string' : 'binary';
  if (body.columns.length === 0) return [{ name: 'value', type: { kind: type } }];
  const columns = readColumns(body.columns, faults);
  const isOne = columns !== 'broken' && columns.length === 1 && columns[0]?.type.kind === type;
  if (columns === 'broken' || isOne) return columns;
  faults.add(
    planFault('SOURCE_COLUMNS', `a source of format ${format} has one ${type} column`, place, {
      hint: `Declare it as (value ${type.toUpperCase()}), or leave the columns out.`,
    }),
  );
  return 'broken';
}

export function undeclared(topic: string, place: Place, message: string, nearest?: string) {
  const declare = `Declare it: CREATE SOURCE ${quotedName(topic)} (column TYPE, …); "tidemark infer ${topic}" prints the statement from the first records.`;
  return planFault('SOURCE_UNDECLARED', message, place, {
    hint: nearest === undefined ? declare : `${nearest} ${declare}`,
  });
}

function quotedName(topic: string): string {
  return topic
    .split('.')
    .map((part) => (/^[a-z_][a-z0-9_]*$/iu.test(part) ? part : `\`${part}\``))
    .join('.');
}

function warnOfShadows(
  columns: readonly Column[],
  definitions: readonly ColumnDefinition[],
  faults: FaultList,
): void {
  const hidden = new Set(hiddenColumns.map((column) => nameKey(column.name)));
  for (const [index, column] of columns.entries()) {
    const place = definitions[index]?.name.place;
    if (place === undefined || !hidden.has(nameKey(column.name))) continue;
    faults.add(
      planWarning(
        'HIDDEN_COLUMN_SHADOWED',
        `the declared column "${column.name}" hides the record's own`,
        place,
        {
          hint: 'Declare it under the name of the JSON member only if you do not need the record’s.',
        },
      ),
    );
  }
}

// ---------------------------------------------------------------- columns, constraints, topics

/** Declared columns with their types; `broken` when one of them has no type that can be read. */
function readColumns(
  definitions: readonly ColumnDefinition[],
  faults: FaultList,
): readonly Column[] | 'broken' {
  const columns: Column[] = [];
  const seen = new Set<string>();
  let isBroken = false;
  for (const definition of definitions) {
    const { text, place } = definition.name;
    if (seen.has(nameKey(text))) {
      const message = `column "${text}" is declared twice`;
      const detail = 'Column names are the same whatever their case.';
      faults.add(planFault('COLUMN_DUPLICATE', message, place, { detail }));
      isBroken = true;
      continue;
    }
    seen.add(nameKey(text));
    checkColumnOptions(definition, faults);
    const type = faults.attempt(() => resolveType(definition.type));
    if (type === undefined) isBroken = true;
    else columns.push({ name: text, type });
  }
  return isBroken ? 'broken' : columns;
}

function checkColumnOptions(definition: ColumnDefinition, faults: FaultList): void {
  if (definition.notNull) {
    const { text, place } = definition.name;
    faults.add(
      planWarning('NOT_NULL_IGNORED', `NOT NULL on column "${text}" is not enforced`, place, {
        hint: `Write CONSTRAINT ${text}_given EXPECT (${text} IS NOT NULL) ON VIOLATION DROP ROW on the table.`,
      }),
    );
  }
  if (definition.defaultValue !== undefined) {
    const hint = 'Use coalesce in the query.';
    faults.add(notSupportedYet('DEFAULT of a column', definition.defaultValue.place, hint));
  }
}

function checkConstraintNames(constraints: readonly Constraint[], faults: FaultList): void {
  const seen = new Map<string, Identifier>();
  for (const { name } of constraints) {
    if (seen.has(nameKey(name.text))) {
      const message = `expectation "${name.text}" is declared twice`;
      const hint = 'Each expectation is counted under its own name: rename one.';
      faults.add(planFault('CONSTRAINT_DUPLICATE', message, name.place, { hint }));
    }
    seen.set(nameKey(name.text), name);
  }
}

function topicOf(
  name: string,
  given: Given<string> | undefined,
  place: Place,
  faults: FaultList,
): string {
  if (given !== undefined) return given.value;
  const reason = topicNameFault(name);
  if (reason !== undefined) {
    faults.add(
      planFault('TOPIC_NAME_INVALID', `"${name}" cannot be the name of a topic`, place, {
        detail: `Kafka refuses it: ${reason}.`,
        hint: "Give the topic a name of its own: WITH (topic = '…').",
      }),
    );
  }
  return name;
}

function checkTopics(catalog: Catalog, faults: FaultList): void {
  const owners = new Map<string, string>();
  for (const dataset of catalog.datasets) {
    if (dataset.kind === 'source') {
      owners.set(dataset.plan.topic, `source "${dataset.name}" reads`);
    }
  }
  const claim = (topic: string, deed: string, place: Place): void => {
    const before = owners.get(topic);
    if (before === undefined) {
      owners.set(topic, deed);
      return;
    }
    faults.add(
      planFault('TOPIC_TAKEN', `${deed} topic "${topic}", which ${before} too`, place, {
        hint: "Give one of them another topic: WITH (topic = '…').",
      }),
    );
  };
  const tables = [...catalog.datasets].filter((dataset) => dataset.kind === 'table');
  for (const table of tables) {
    claim(table.topic, `streaming table "${table.name}" writes`, table.place);
  }
  for (const table of tables) {
    const letters = table.options.text('dead_letter_topic');
    if (letters === undefined || !owners.has(letters.value)) continue;
    claim(letters.value, `the dead letters of "${table.name}" go to`, letters.place);
  }
}

function checkFlowNames(catalog: Catalog, faults: FaultList): void {
  const seen = new Map<string, FlowDeclaration>();
  for (const flow of catalog.flows) {
    const before = seen.get(nameKey(flow.name));
    if (before === undefined) seen.set(nameKey(flow.name), flow);
    else {
      faults.add(
        planFault('FLOW_NAME_TAKEN', `the flow name "${flow.name}" is taken`, flow.namePlace, {
          detail: `The name of a flow is its checkpoint. Another flow of this name stands at ${placeText(before.place)}; the default flow of a table has the table's name.`,
          hint: 'Give one of the flows another name.',
        }),
      );
    }
    const reason = topicNameFault(flow.name);
    if (reason === undefined) continue;
    faults.add(
      planFault(
        'FLOW_NAME_INVALID',
        `"${flow.name}" cannot be the name of a flow`,
        flow.namePlace,
        {
          detail: `The name becomes part of a consumer group and of topics, and Kafka refuses it: ${reason}.`,
          hint: 'Use letters, digits, dots, dashes and underscores.',
        },
      ),
    );
  }
}

// ---------------------------------------------------------------- settings

const timeZoneKeys: readonly string[] = ['timezone', 'time zone', 'spark.sql.session.timezone'];

function addSetting(
  catalog: Catalog,
  statement: Extract<Statement, { node: 'set' }>,
  settings: Map<string, string>,
  faults: FaultList,
): void {
  const key = statement.key.toLowerCase();
  if (!timeZoneKeys.includes(key)) {
    faults.add(unknownSetting(statement));
    return;
  }
  const value = String(statement.value);
  const before = settings.get('timezone');
  if (before !== undefined && before !== value) {
    faults.add(
      planFault('SETTING_CONFLICT', 'the time zone is set twice', statement.place, {
        detail: `It was "${before}" before and is "${value}" here; a pipeline has one time zone.`,
      }),
    );
    return;
  }
  settings.set('timezone', value);
  if (zoneOf(value) !== undefined) {
    catalog.timeZone = value;
    return;
  }
  faults.add(
    planFault('SETTING_VALUE', `there is no time zone "${value}"`, statement.place, {
      hint: "Use an IANA name such as 'Europe/Warsaw', or an offset such as '+02:00'.",
    }),
  );
}

function unknownSetting(statement: Extract<Statement, { node: 'set' }>) {
  const { key, place } = statement;
  if (/^(pipelines|spark|delta)\./iu.test(key)) {
    return planWarning('SETTING_IGNORED', `the setting "${key}" is ignored`, place);
  }
  return planFault('SETTING_UNKNOWN', `there is no setting "${key}"`, place, {
    hint: nameHint(key, ['timezone'], 'settings'),
  });
}
