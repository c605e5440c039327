import type { FlowBody, Name, Query, QueryBody, Relation } from '../sql/ast.ts';
import { nameKey } from './bind/names.ts';
import type { Catalog, Dataset } from './catalog.ts';
import { type FaultList, planFault } from './faults.ts';

/** Which datasets of a pipeline each of them reads; sources are not among them. */
export type DatasetReads = ReadonlyMap<Dataset, ReadonlySet<Dataset>>;

/** Tables and views that read each other in a circle can never be computed: each circle is one fault. */
export function checkCycles(reads: DatasetReads, faults: FaultList): void {
  const done = new Set<Dataset>();
  const told = new Set<Dataset>();
  const path: Dataset[] = [];
  const visit = (dataset: Dataset): void => {
    const start = path.indexOf(dataset);
    if (start >= 0) tell(path.slice(start), told, faults);
    if (start >= 0 || done.has(dataset)) return;
    path.push(dataset);
    for (const next of reads.get(dataset) ?? []) visit(next);
    path.pop();
    done.add(dataset);
  };
  for (const dataset of reads.keys()) visit(dataset);
}

function tell(circle: readonly Dataset[], told: Set<Dataset>, faults: FaultList): void {
  const [first] = circle;
  if (first === undefined || circle.some((dataset) => told.has(dataset))) return;
  for (const dataset of circle) told.add(dataset);
  const names = [...circle, first].map((dataset) => `"${dataset.name}"`).join(' reads ');
  faults.add(
    planFault('TABLE_CYCLE', `${names}: a circle`, first.place, {
      hint: 'Let one of them read a source instead.',
    }),
  );
}

export function readsOf(catalog: Catalog): DatasetReads {
  const reads = new Map<Dataset, Set<Dataset>>();
  const add = (reader: Dataset, names: Iterable<Name>): void => {
    const found = reads.get(reader) ?? new Set<Dataset>();
    for (const name of names) {
      const dataset = catalog.find(name);
      if (dataset !== undefined && dataset.kind !== 'source') found.add(dataset);
    }
    reads.set(reader, found);
  };
  for (const dataset of [...catalog.datasets]) {
    if ('query' in dataset && dataset.query !== undefined) add(dataset, namesIn(dataset.query));
  }
  for (const flow of catalog.flows) {
    const target = catalog.find(flow.target);
    if (target !== undefined) add(target, namesInFlow(flow.body));
  }
  return reads;
}

function namesInFlow(body: FlowBody): Iterable<Name> {
  return body.node === 'insert' ? namesIn(body.query) : namesInRelation(body.cdc.source, new Set());
}

function* namesIn(query: Query, outer: ReadonlySet<string> = new Set()): Generator<Name> {
  const known = new Set(outer);
  for (const { name, query: inner } of query.ctes) {
    yield* namesIn(inner, known);
    known.add(nameKey(name.text));
  }
  yield* namesInBody(query.body, known);
}

function* namesInBody(body: QueryBody, known: ReadonlySet<string>): Generator<Name> {
  switch (body.node) {
    case 'select':
      for (const relation of body.from) yield* namesInRelation(relation, known);
      break;
    case 'set':
      yield* namesInBody(body.left, known);
      yield* namesInBody(body.right, known);
      break;
    case 'parenthesized':
      yield* namesIn(body.query, known);
      break;
    case 'table':
      if (!isCommon(body.name, known)) yield body.name;
      break;
    case 'values':
      break;
  }
}

function* namesInRelation(relation: Relation, known: ReadonlySet<string>): Generator<Name> {
  switch (relation.node) {
    case 'named':
      if (!isCommon(relation.name, known)) yield relation.name;
      break;
    case 'subquery':
      yield* namesIn(relation.query, known);
      break;
    case 'join':
      yield* namesInRelation(relation.left, known);
      yield* namesInRelation(relation.right, known);
      break;
    case 'foreign':
      yield* namesInRelation(relation.relation, known);
      break;
    case 'function':
    case 'inline':
    case 'unread':
      break;
  }
}

function isCommon(name: Name, known: ReadonlySet<string>): boolean {
  return name.parts.length === 1 && known.has(nameKey(name.parts[0]?.text ?? ''));
}
