import type { Place } from '../base/place.ts';
import { zoneOf } from '../data/zones.ts';
import type { Statement } from '../sql/ast.ts';
import { nameHint } from './bind/name-hint.ts';
import { isBuiltName, nameKey, nameText, topicNameFault } from './bind/names.ts';
import { Catalog, placeText, type Schemas } from './catalog.ts';
import { checkConstraintNames, readColumns } from './declared-columns.ts';
import { readSource } from './declared-source.ts';
import { type FaultList, planFault, planWarning } from './faults.ts';
import { checkClauses, readOptions } from './options.ts';
import { topicOf } from './topic-rules.ts';
import { namedQuery } from './view-columns.ts';

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
    case 'create_sink':
      addSink(catalog, statement, faults);
      break;
    case 'create_view':
      addView(catalog, statement, faults);
      break;
    case 'create_materialized_view':
      addMaterializedView(catalog, statement, faults);
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
            hint: statement.clause.clause.startsWith('INSERT')
              ? 'A flow inserts for as long as the pipeline runs: CREATE FLOW name AS INSERT INTO target BY NAME SELECT … .'
              : 'A pipeline consists of CREATE SOURCE, STREAMING TABLE, FLOW, VIEW, MATERIALIZED VIEW and SINK, and of SET.',
          },
        ),
      );
  }
}

type CreateTable = Extract<Statement, { node: 'create_streaming_table' }>;

function addTable(catalog: Catalog, statement: CreateTable, faults: FaultList): void {
  const name = nameText(statement.name);
  const { flow } = statement;
  const { place } = statement.name;
  declareTarget(catalog, 'table', statement, faults);
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
  const { constraints } = statement.body;
  checkConstraintNames(constraints, faults);
  checkClauses(statement.body, faults);
  const { name } = statement;
  const query = namedQuery(statement.query, statement.columns, faults);
  const view = { name: nameText(name), place: name.place, constraints, query };
  catalog.declare({ kind: 'view', ...view }, name, faults);
}

function addMaterializedView(
  catalog: Catalog,
  statement: Extract<Statement, { node: 'create_materialized_view' }>,
  faults: FaultList,
): void {
  const { body } = statement;
  const query = namedQuery(statement.query, statement.columns, faults);
  const name = nameText(statement.name);
  const { place } = statement.name;
  checkClauses(body, faults);
  const options = readOptions({ noun: 'materialized view', name }, body, faults);
  const topic = topicOf(name, options.text('topic'), place, faults);
  checkConstraintNames(body.constraints, faults);
  const { constraints } = body;
  catalog.declare(
    { kind: 'materialized view', name, place, topic, query, constraints, options },
    statement.name,
    faults,
  );
}

function addSink(
  catalog: Catalog,
  statement: Extract<Statement, { node: 'create_sink' }>,
  faults: FaultList,
): void {
  const { body } = statement;
  const [constraint] = body.constraints;
  const name = nameText(statement.name);
  if (constraint !== undefined) {
    faults.add(
      planFault('SINK_CONSTRAINT', `sink "${name}" has an expectation`, constraint.place, {
        detail: 'A sink is a topic of somebody else; what it may hold is judged before.',
        hint: 'Declare the expectation on a view that the flow reads, or on a table before it.',
      }),
    );
  }
  declareTarget(catalog, 'sink', statement, faults);
}

function declareTarget(
  catalog: Catalog,
  kind: 'table' | 'sink',
  statement: Pick<CreateTable, 'name' | 'body'>,
  faults: FaultList,
): void {
  const { body } = statement;
  const name = nameText(statement.name);
  const { place } = statement.name;
  checkClauses(body, faults);
  const noun = kind === 'sink' ? 'sink' : 'streaming table';
  const options = readOptions({ noun, name }, body, faults);
  const topic = topicOf(name, options.text('topic'), place, faults);
  checkConstraintNames(body.constraints, faults);
  const columns = body.columns.length === 0 ? undefined : readColumns(body.columns, faults);
  const constraints = kind === 'sink' ? [] : body.constraints;
  catalog.declare(
    { kind, name, place, topic, columns, constraints, options },
    statement.name,
    faults,
  );
}

function checkFlowNames(catalog: Catalog, faults: FaultList): void {
  const seen = new Map<string, { readonly place: Place }>();
  for (const dataset of catalog.datasets) {
    if (dataset.kind !== 'materialized view') continue;
    // The checkpoint of a materialized view has its name.
    seen.set(nameKey(dataset.name), dataset);
    checkBuiltName(dataset, 'materialized view', faults);
  }
  for (const flow of catalog.flows) {
    const { name, namePlace } = flow;
    const before = seen.get(nameKey(name));
    if (before === undefined) seen.set(nameKey(name), flow);
    else {
      faults.add(
        planFault('FLOW_NAME_TAKEN', `the flow name "${name}" is taken`, namePlace, {
          detail: `The name of a flow is its checkpoint. Another flow of this name stands at ${placeText(before.place)}; the default flow of a table has the table's name.`,
          hint: 'Give one of the flows another name.',
        }),
      );
    }
    checkBuiltName({ name, place: namePlace }, 'flow', faults);
    const reason = topicNameFault(name);
    if (reason === undefined) continue;
    faults.add(
      planFault('FLOW_NAME_INVALID', `"${name}" cannot be the name of a flow`, namePlace, {
        detail: `The name becomes part of a consumer group and of topics, and Kafka refuses it: ${reason}.`,
        hint: 'Use letters, digits, dots, dashes and underscores.',
      }),
    );
  }
}

function checkBuiltName(
  { name, place }: { readonly name: string; readonly place: Place },
  noun: string,
  faults: FaultList,
): void {
  if (!isBuiltName(name)) return;
  faults.add(
    planFault('FLOW_NAME_INVALID', `"${name}" cannot be the name of a ${noun}`, place, {
      detail:
        'The name of a flow with .refresh behind it is that of the flow that builds its table anew: the two would share a checkpoint.',
      hint: 'Give it a name that does not end in .refresh.',
    }),
  );
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
