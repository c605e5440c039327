import type { Catalog, TableDataset } from '../catalog.ts';

/** A table that no flow writes, and that declares no columns: it never has a row, and nobody can tell what one would be. */
export function isIdleTable(table: TableDataset, catalog: Catalog): boolean {
  return (
    table.kind === 'table' &&
    table.columns === undefined &&
    catalog.flows.every(({ target }) => catalog.find(target) !== table)
  );
}

/** What to do about a table that no flow writes. */
export function idleTableHint({ name }: TableDataset): string {
  return `Add a flow that writes it: CREATE FLOW … AS INSERT INTO ${name} BY NAME SELECT … . If somebody else fills its topic, declare that with CREATE SOURCE instead.`;
}
