import type { TableDataset } from './catalog.ts';

/** How a table is written whose rows are kept by key. */
export function outputModeOf({ options }: TableDataset): 'row_set' | 'rows' {
  return options.text('output')?.value === 'rows' ? 'rows' : 'row_set';
}
