import type { Fault, Place } from '../base/place.ts';
import type { Column } from '../data/types.ts';
import type { ColumnDefinition, Statement, TableBody } from '../sql/ast.ts';
import { type Catalog, type SourceDataset, sourcePlan } from './catalog.ts';
import { readColumns } from './declared-columns.ts';
import { type FaultList, planFault, planWarning } from './faults.ts';
import { nameKey, nameText } from './names.ts';
import { checkClauses, readOptions } from './options.ts';
import { hiddenColumns, type SourceFormat } from './pipeline-plan.ts';
import { topicOf } from './topic-rules.ts';

const formats: readonly SourceFormat[] = ['json', 'string', 'bytes', 'debezium-json'];

type CreateSource = Extract<Statement, { node: 'create_source' }>;

/** Reads CREATE SOURCE. What cannot be read leaves a broken source, of which nothing more is said. */
export function readSource(
  statement: CreateSource,
  catalog: Catalog,
  faults: FaultList,
): SourceDataset {
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
  const format = formats.find((one) => one === formatText) ?? 'json';
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
    plan: {
      ...sourcePlan(name, topic, format, read, tombstones),
      refreshIntervalMicros: options.durationMicros('refresh_interval')?.value,
    },
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
  if (format === 'json' || format === 'debezium-json') {
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

/** The fault of a topic without columns, with the ways to declare them. */
export function undeclared(topic: string, place: Place, message: string, nearest?: string): Fault {
  const declare = `Declare it: CREATE SOURCE ${quotedName(topic)} (column TYPE, …); "tidemark infer ${topic}" prints the statement from the first records.`;
  return planFault('SOURCE_UNDECLARED', message, place, {
    hint: nearest === undefined ? declare : `${nearest} ${declare}`,
  });
}

export function quotedName(topic: string): string {
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
