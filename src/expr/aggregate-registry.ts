import type { AggregateDefinition } from './aggregate.ts';
import { basicAggregates } from './aggregates/basic.ts';
import { bitmapAggregates } from './aggregates/bitmap.ts';
import { collectAggregates } from './aggregates/collect.ts';
import { percentileAggregates } from './aggregates/percentile.ts';
import { statisticsAggregates } from './aggregates/statistics.ts';
import { vectorAggregates } from './aggregates/vector.ts';

/** All aggregate functions by their names in lower case. Invariant: no name stands for two. */
const aggregates: ReadonlyMap<string, AggregateDefinition> = new Map(
  [
    basicAggregates,
    bitmapAggregates,
    collectAggregates,
    percentileAggregates,
    statisticsAggregates,
    vectorAggregates,
  ]
    .flat()
    .flatMap((definition) => definition.names.map((name) => [name, definition] as const)),
);

export function findAggregate(name: string): AggregateDefinition | undefined {
  return aggregates.get(name.toLowerCase());
}
