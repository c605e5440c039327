import {
  type MetricDeclaration,
  metricDeclarations,
} from '../src/adapters/prometheus/metric-declarations.ts';

/** The tables of docs/metrics.md, one a group, in the order of the declaration. */
export function metricTables(): string {
  const groups = new Map<string, MetricDeclaration[]>();
  for (const metric of metricDeclarations) {
    const known = groups.get(metric.group);
    if (known === undefined) groups.set(metric.group, [metric]);
    else known.push(metric);
  }
  return [...groups]
    .map(([group, metrics]) =>
      [
        `### ${group.charAt(0).toUpperCase()}${group.slice(1)}`,
        '',
        '| metric | type | labels | meaning |',
        '| --- | --- | --- | --- |',
        ...metrics.map(row),
        '',
      ].join('\n'),
    )
    .join('\n');
}

function row({ name, type, labels, values, help }: MetricDeclaration): string {
  const shown = labels.map((label) => {
    const words = values?.[label];
    return words === undefined ? `\`${label}\`` : `\`${label}\` (${words.join(', ')})`;
  });
  const cells = [`\`${name}\``, type, shown.length === 0 ? '–' : shown.join(', '), help];
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}
