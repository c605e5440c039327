import type { Fault, Place } from '../base/place.ts';
import { fileTopic } from '../data/file-topic.ts';
import { formatType } from '../data/type-text.ts';
import type { Column } from '../data/types.ts';
import type { ColumnDefinition, Statement, TableBody } from '../sql/ast.ts';
import { nameKey, nameText } from './bind/names.ts';
import { type Catalog, type SourceDataset, sourcePlan } from './catalog.ts';
import { type ReadColumns, readAllColumns, readColumns } from './declared-columns.ts';
import { type FaultList, planFault, planWarning } from './faults.ts';
import { checkClauses, type OptionValues, readOptions } from './options.ts';
import { hiddenColumns, type SourceFormat } from './pipeline-plan.ts';
import { topicOf } from './topic-rules.ts';

const formats: readonly SourceFormat[] = ['json', 'string', 'bytes', 'debezium-json', 'csv'];

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
  const formatText = options.text('format')?.value ?? 'json';
  const format = formats.find((one) => one === formatText) ?? 'json';
  const file = options.text('file');
  checkFile(options, format, faults);
  const topic =
    file === undefined
      ? topicOf(name, options.text('topic'), place, faults)
      : fileTopic(file.value, format);
  const tombstones = options.text('tombstones')?.value === 'bad' ? 'bad' : 'skip';
  const hasFormat =
    !body.options.some((o) => o.key.toLowerCase() === 'format') ||
    options.text('format') !== undefined;
  const columns = hasFormat
    ? sourceColumns({ name, topic, format, place }, body, catalog, faults)
    : readAllColumns(body.columns, faults);
  const read = columns === 'broken' ? [] : columns.columns;
  warnOfShadows(read, body.columns, faults);
  return {
    kind: 'source',
    name,
    place,
    plan: {
      ...sourcePlan(name, topic, format, read, tombstones),
      ...(file === undefined ? {} : { file: file.value }),
      refreshIntervalMicros: options.durationMicros('refresh_interval')?.value,
    },
    declared: read.length,
    broken: columns === 'broken' || !hasFormat,
    brokenColumns: columns === 'broken' ? new Set() : columns.broken,
  };
}

/** A source is a topic or a file; CSV is a format of files, and an envelope of changes is none. */
function checkFile(options: OptionValues, format: SourceFormat, faults: FaultList): void {
  const file = options.text('file');
  const topic = options.text('topic');
  const given = options.text('format');
  if (file !== undefined && topic !== undefined) {
    const hint = 'Leave one of them out.';
    const message = 'a source is a topic or a file, not both';
    faults.add(planFault('OPTION_VALUE', message, topic.place, { hint }));
  }
  if (given === undefined) return;
  if (file === undefined && format === 'csv') {
    const hint = "Name the file: WITH (file = '…', format = 'csv').";
    faults.add(planFault('OPTION_VALUE', 'csv is a format of files', given.place, { hint }));
  }
  if (file !== undefined && (format === 'debezium-json' || format === 'bytes')) {
    const hint = 'A file has lines of JSON, of CSV or of text: json, csv or string.';
    const message = `a file cannot have the format ${format}`;
    faults.add(planFault('OPTION_VALUE', message, given.place, { hint }));
  }
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
): ReadColumns | 'broken' {
  const { format, place } = source;
  if (format === 'json' || format === 'debezium-json' || format === 'csv') {
    if (body.columns.length > 0) {
      const read = readAllColumns(body.columns, faults);
      return format === 'csv' ? flat(read, body, faults) : read;
    }
    const known = catalog.schemaOf(source.topic);
    if (known !== undefined) return whole(known);
    faults.add(undeclared(source.topic, place, `source "${source.name}" declares no columns`));
    return 'broken';
  }
  const type = format === 'string' ? 'string' : 'binary';
  if (body.columns.length === 0) return whole([{ name: 'value', type: { kind: type } }]);
  const columns = readColumns(body.columns, faults);
  const isOne = columns !== 'broken' && columns.length === 1 && columns[0]?.type.kind === type;
  if (columns === 'broken') return columns;
  if (isOne) return whole(columns);
  faults.add(
    planFault('SOURCE_COLUMNS', `a source of format ${format} has one ${type} column`, place, {
      hint: `Declare it as (value ${type.toUpperCase()}), or leave the columns out.`,
    }),
  );
  return 'broken';
}

function whole(columns: readonly Column[]): ReadColumns {
  return { columns, broken: new Set() };
}

/** A field of CSV is one text: it has no form for values with parts. */
function flat(read: ReadColumns, body: TableBody, faults: FaultList): ReadColumns | 'broken' {
  const { columns } = read;
  const nested = columns.findIndex(({ type }) =>
    ['array', 'map', 'struct', 'variant'].includes(type.kind),
  );
  const place = body.columns[nested]?.place;
  if (place === undefined) return read;
  const message = `a field of csv cannot be of type ${formatType(columns[nested]?.type ?? { kind: 'void' })}`;
  const hint = 'Declare it STRING and read it with from_json, or use a file of JSON lines.';
  faults.add(planFault('SOURCE_COLUMNS', message, place, { hint }));
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
