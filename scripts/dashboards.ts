/** The Grafana dashboards as data. `scripts/write-operations.ts` writes them as JSON. */

type Target = { readonly expr: string; readonly legend: string };

type Panel = {
  readonly kind: 'stat' | 'graph';
  readonly title: string;
  readonly unit: string;
  readonly description: string;
  readonly targets: readonly Target[];
  /** From here on the value is red. */
  readonly redFrom?: number;
  /** Below this the value is red. */
  readonly redBelow?: number;
  readonly isStacked?: boolean;
};

type Dashboard = {
  readonly uid: string;
  readonly title: string;
  readonly description: string;
  readonly isOfOneFlow: boolean;
  readonly rows: readonly { readonly title: string; readonly panels: readonly Panel[] }[];
};

const all = 'namespace=~"$namespace",pipeline=~"$pipeline"';
const one = `${all},flow=~"$flow"`;

function rate(metric: string, selector: string, more = ''): string {
  return `rate(${metric}{${selector}${more}}[$__rate_interval])`;
}

function sumBy(labels: string, expr: string): string {
  return `sum by (${labels}) (${expr})`;
}

function quantile(share: number, metric: string, selector: string, by = 'le'): string {
  return `histogram_quantile(${share}, ${sumBy(by, rate(`${metric}_bucket`, selector))})`;
}

function graph(
  title: string,
  unit: string,
  description: string,
  targets: readonly (readonly [expr: string, legend: string])[],
  more: Pick<Panel, 'isStacked'> = {},
): Panel {
  return {
    kind: 'graph',
    title,
    unit,
    description,
    targets: targets.map(([expr, legend]) => ({ expr, legend })),
    ...more,
  };
}

function stat(
  title: string,
  unit: string,
  description: string,
  expr: string,
  more: Pick<Panel, 'redFrom' | 'redBelow'> = {},
): Panel {
  return { kind: 'stat', title, unit, description, targets: [{ expr, legend: '' }], ...more };
}

const overview: Dashboard = {
  uid: 'tidemark-overview',
  title: 'Tidemark / Overview',
  description: 'Whether the pipelines are fresh and complete, and what they do.',
  isOfOneFlow: false,
  rows: [
    {
      title: 'Are results fresh and complete?',
      panels: [
        stat(
          'Instances running',
          'short',
          'Instances whose worker is in state running.',
          `sum(tidemark_pipeline_state{${all},state="running"})`,
        ),
        stat(
          'Flows failed',
          'short',
          'Flows that stopped on an error which only a person can resolve.',
          `sum(max by (namespace, pipeline, flow) (tidemark_flow_failed{${all}}))`,
          { redFrom: 1 },
        ),
        stat(
          'Oldest waiting record',
          's',
          'The largest age of a record that waits, over all flows.',
          `max(tidemark_source_lag_seconds{${all}})`,
          { redFrom: 300 },
        ),
        stat(
          'Freshness objective met, 6 h',
          'percentunit',
          'Share of time in which the latest flow met its objective.',
          `1 - max(tidemark:freshness_errors:ratio6h{${all}})`,
          { redBelow: 0.99 },
        ),
        stat(
          'Smallest retention headroom',
          's',
          'Time until retention may delete a record that was not read.',
          `min(tidemark_retention_headroom_seconds{${all}})`,
          { redBelow: 21_600 },
        ),
        stat(
          'Rows that the account misses',
          'short',
          'Anything but 0 is a fault of Tidemark.',
          `sum(tidemark_row_account_difference{${all}})`,
          { redFrom: 1 },
        ),
      ],
    },
    {
      title: 'Traffic',
      panels: [
        graph('Records read', 'cps', 'Records read and committed a second, by flow.', [
          [
            sumBy('pipeline, flow', rate('tidemark_input_records_total', all)),
            '{{pipeline}} {{flow}}',
          ],
        ]),
        graph('Records written', 'cps', 'Records committed to output topics a second, by flow.', [
          [
            sumBy('pipeline, flow', rate('tidemark_output_records_total', all)),
            '{{pipeline}} {{flow}}',
          ],
        ]),
        graph('Lag in seconds', 's', 'Age of the oldest record that waits.', [
          [
            `max by (pipeline, flow) (tidemark_source_lag_seconds{${all}})`,
            '{{pipeline}} {{flow}}',
          ],
        ]),
        graph('Lag in records', 'short', 'Records that are not committed.', [
          [sumBy('pipeline, flow', `tidemark_source_lag_records{${all}}`), '{{pipeline}} {{flow}}'],
        ]),
      ],
    },
    {
      title: 'Correctness signals',
      panels: [
        graph(
          'Rows by outcome',
          'cps',
          'What became of each row at its key.',
          [[sumBy('outcome', rate('tidemark_keyed_rows_total', all)), '{{outcome}}']],
          { isStacked: true },
        ),
        graph('Rows dropped by expectations', 'cps', 'Rows that expectations took away.', [
          [
            sumBy('pipeline, flow', rate('tidemark_dropped_rows_total', all)),
            '{{pipeline}} {{flow}}',
          ],
        ]),
        graph('Dead letters', 'cps', 'Records that could not be read or computed.', [
          [
            sumBy('flow, source, reason', rate('tidemark_dead_letter_records_total', all)),
            '{{flow}} {{source}} {{reason}}',
          ],
        ]),
      ],
    },
    {
      title: 'Transactions and membership',
      panels: [
        graph('Commit time', 's', 'Time of a commit that stands.', [
          [quantile(0.5, 'tidemark_commit_duration_seconds', `${all},phase="total"`), 'p50'],
          [quantile(0.99, 'tidemark_commit_duration_seconds', `${all},phase="total"`), 'p99'],
        ]),
        graph(
          'Commits by result',
          'cps',
          'Ends of transactions a second, by what became of them.',
          [
            [
              sumBy('pipeline, result', rate('tidemark_commits_total', all)),
              '{{pipeline}} {{result}}',
            ],
          ],
        ),
        graph(
          'Rebalances and recoveries',
          'short',
          'How often the groups gave out partitions, and instances went back to the checkpoint.',
          [
            [
              sumBy('pipeline', `increase(tidemark_rebalances_total{${all}}[$__rate_interval])`),
              'rebalances of {{pipeline}}',
            ],
            [
              sumBy('remedy', `increase(tidemark_recoveries_total{${all}}[$__rate_interval])`),
              'recovery: {{remedy}}',
            ],
          ],
        ),
      ],
    },
    {
      title: 'State store',
      panels: [
        graph('Store call time, p99', 's', 'Time of the calls, by operation.', [
          [
            quantile(0.99, 'tidemark_state_store_operation_duration_seconds', all, 'op, le'),
            '{{op}}',
          ],
        ]),
        graph('Keys read and written', 'cps', 'Keys in the calls of the store a second.', [
          [sumBy('op', rate('tidemark_state_store_keys_total', all)), '{{op}}'],
        ]),
        graph('Store errors', 'cps', 'Calls that failed, by error.', [
          [
            sumBy('store, error', rate('tidemark_state_store_errors_total', all)),
            '{{store}} {{error}}',
          ],
        ]),
        graph(
          'Store memory',
          'bytes',
          'What the store uses, and what it may use where it has a limit.',
          [
            [
              `max by (pipeline, store) (tidemark_state_store_used_bytes{${all}})`,
              '{{pipeline}} {{store}}',
            ],
            [
              `max by (pipeline, store) (tidemark_state_store_limit_bytes{${all}})`,
              'limit of {{pipeline}} {{store}}',
            ],
          ],
        ),
        graph('Keys in the state', 'short', 'Keys that the state holds, over all instances.', [
          [sumBy('pipeline, flow', `tidemark_state_keys{${all}}`), '{{pipeline}} {{flow}}'],
        ]),
        graph('Left to restore', 'short', 'Offsets that restores still have to read.', [
          [
            sumBy('pipeline, flow', `tidemark_state_rebuild_remaining_records{${all}}`),
            '{{pipeline}} {{flow}}',
          ],
        ]),
      ],
    },
    {
      title: 'Kafka requests',
      panels: [
        graph(
          'Request time, p99',
          's',
          'By API. Fetch waits at the broker while there is nothing to read.',
          [[quantile(0.99, 'tidemark_kafka_request_duration_seconds', all, 'api, le'), '{{api}}']],
        ),
        graph('Requests without an answer', 'cps', 'By API and error.', [
          [
            sumBy('api, error', rate('tidemark_kafka_request_errors_total', all)),
            '{{api}} {{error}}',
          ],
        ]),
      ],
    },
    {
      title: 'Process',
      panels: [
        graph('CPU', 'short', 'Cores in use, by instance.', [
          [sumBy('pod, instance', rate('process_cpu_seconds_total', all)), '{{pod}} {{instance}}'],
        ]),
        graph('Memory', 'bytes', 'Resident memory, by instance.', [
          [sumBy('pod, instance', `process_resident_memory_bytes{${all}}`), '{{pod}} {{instance}}'],
        ]),
        graph('Event loop lag, p99', 's', 'Delay of the event loop, by instance.', [
          [
            `max by (pod, instance) (nodejs_eventloop_lag_p99_seconds{${all}})`,
            '{{pod}} {{instance}}',
          ],
        ]),
      ],
    },
  ],
};

const flow: Dashboard = {
  uid: 'tidemark-flow',
  title: 'Tidemark / One flow',
  description: 'Where each row of one flow went, and how far the flow is.',
  isOfOneFlow: true,
  rows: [
    {
      title: 'Progress',
      panels: [
        stat(
          'Oldest waiting record',
          's',
          'Age of the oldest record that waits.',
          `max(tidemark_source_lag_seconds{${one}})`,
          { redFrom: 300 },
        ),
        stat(
          'Records waiting',
          'short',
          'Records of the sources that are not committed.',
          `sum(tidemark_source_lag_records{${one}})`,
        ),
        stat(
          'Rows between the stages',
          'short',
          'Rows that were handed on and not merged yet.',
          `sum(tidemark_table_lag_records{${one}})`,
        ),
        stat(
          'Partitions at work',
          'percentunit',
          'Assigned partitions over all partitions of both stages.',
          `sum(tidemark_assigned_partitions{${one}}) / sum(max by (flow, stage) (tidemark_flow_partitions{${one}}))`,
          { redBelow: 1 },
        ),
        stat(
          'Failed',
          'short',
          '1 when the flow stopped on an error.',
          `max(tidemark_flow_failed{${one}})`,
          { redFrom: 1 },
        ),
        stat(
          'Partitions restoring',
          'short',
          'Partitions whose state is being rebuilt.',
          `sum(tidemark_restoring_partitions{${one}})`,
        ),
        graph('Lag by source, in seconds', 's', 'Age of the oldest record that waits, by source.', [
          [`max by (source) (tidemark_source_lag_seconds{${one}})`, '{{source}}'],
        ]),
        graph('Lag by source, in records', 'short', 'Records that wait, by source.', [
          [sumBy('source', `tidemark_source_lag_records{${one}}`), '{{source}}'],
          [`sum(tidemark_table_lag_records{${one}})`, 'between the stages'],
        ]),
        graph('Records read', 'cps', 'Records a second, by source.', [
          [sumBy('source', rate('tidemark_input_records_total', one)), '{{source}}'],
        ]),
        graph(
          'End-to-end latency',
          's',
          'From the timestamp of a record to the commit of its result.',
          [
            [quantile(0.5, 'tidemark_end_to_end_latency_seconds', one), 'p50'],
            [quantile(0.95, 'tidemark_end_to_end_latency_seconds', one), 'p95'],
            [quantile(0.99, 'tidemark_end_to_end_latency_seconds', one), 'p99'],
          ],
        ),
        graph('Bytes read and written', 'Bps', 'Bytes a second, before compression.', [
          [`sum(${rate('tidemark_input_bytes_total', one)})`, 'read'],
          [`sum(${rate('tidemark_output_bytes_total', one)})`, 'written'],
        ]),
        graph('Keys and rows', 'short', 'What the table holds, over all instances.', [
          [`sum(tidemark_state_keys{${one}})`, 'keys'],
          [`sum(tidemark_state_rows{${one}})`, 'rows'],
        ]),
      ],
    },
    {
      title: 'Row accounting',
      panels: [
        graph(
          'Records by fate',
          'cps',
          'Every record ends in exactly one of these.',
          [
            [`sum(${rate('tidemark_decoded_records_total', one)})`, 'decoded'],
            [`sum(${rate('tidemark_tombstone_records_total', one)})`, 'tombstones'],
            [
              sumBy('reason', rate('tidemark_dead_letter_records_total', one)),
              'dead letters: {{reason}}',
            ],
          ],
          { isStacked: true },
        ),
        graph(
          'Rows by fate',
          'cps',
          'Every row ends in exactly one of these.',
          [
            [`sum(${rate('tidemark_filtered_rows_total', one)})`, 'filtered'],
            [`sum(${rate('tidemark_dropped_rows_total', one)})`, 'dropped by an expectation'],
            [sumBy('outcome', rate('tidemark_keyed_rows_total', one)), '{{outcome}}'],
          ],
          { isStacked: true },
        ),
        graph(
          'Superseded and tied share',
          'percentunit',
          'Shares of the rows that reached a key.',
          [
            [
              `sum(${rate('tidemark_keyed_rows_total', one, ',outcome="superseded"')}) / sum(${rate('tidemark_keyed_rows_total', one)})`,
              'superseded',
            ],
            [
              `sum(${rate('tidemark_keyed_rows_total', one, ',outcome="tied"')}) / sum(${rate('tidemark_keyed_rows_total', one)})`,
              'tied',
            ],
          ],
        ),
        graph(
          'Rows in, records out',
          'cps',
          'Keys that change often within a commit are written once.',
          [
            [`sum(${rate('tidemark_handed_on_rows_total', one)})`, 'rows handed on'],
            [`sum(${rate('tidemark_output_records_total', one)})`, 'records written'],
          ],
        ),
        graph('Row-set size', 'short', 'Rows of a key when it is written.', [
          [quantile(0.5, 'tidemark_row_set_rows', one), 'p50'],
          [quantile(0.99, 'tidemark_row_set_rows', one), 'p99'],
        ]),
        graph(
          'Replaced',
          'cps',
          'Row-sets that a higher sequence replaced, and the rows that went.',
          [
            [`sum(${rate('tidemark_row_sets_replaced_total', one)})`, 'row-sets'],
            [`sum(${rate('tidemark_rows_retracted_total', one)})`, 'rows'],
          ],
        ),
        graph(
          'Largest record',
          'percentunit',
          'The largest record written, as a share of what the output topic takes.',
          [
            [
              `max by (flow) (tidemark_row_set_bytes_max{${one}}) / min by (flow) (tidemark_record_limit_bytes{${one}})`,
              '{{flow}}',
            ],
          ],
        ),
      ],
    },
    {
      title: 'Where the time goes',
      panels: [
        graph(
          'Main loop by stage',
          'short',
          'Seconds a second that the loops of all instances spent in each stage.',
          [[sumBy('stage', rate('tidemark_stage_seconds_total', all)), '{{stage}}']],
          { isStacked: true },
        ),
        graph('Commit phases, p99', 's', 'What a commit waits for.', [
          [quantile(0.99, 'tidemark_commit_duration_seconds', all, 'phase, le'), '{{phase}}'],
        ]),
      ],
    },
    {
      title: 'Expectations',
      panels: [
        graph('Checked rows by result', 'cps', 'Results of every expectation.', [
          [
            sumBy('expectation, result', rate('tidemark_expectation_rows_total', one)),
            '{{expectation}} {{result}}',
          ],
        ]),
        graph('Failing share', 'percentunit', 'Share of rows that do not meet the expectation.', [
          [
            `${sumBy('expectation', rate('tidemark_expectation_rows_total', one, ',result!="passed"'))} / ${sumBy('expectation', rate('tidemark_expectation_rows_total', one))}`,
            '{{expectation}}',
          ],
        ]),
      ],
    },
  ],
};

const retention: Dashboard = {
  uid: 'tidemark-retention',
  title: 'Tidemark / Retention and refresh',
  description:
    'Whether unread data will expire, what a full refresh would lose, and what is being refreshed or restored.',
  isOfOneFlow: false,
  rows: [
    {
      title: 'Will unread data expire?',
      panels: [
        graph('Retention headroom', 's', 'Time until retention may delete a record that waits.', [
          [
            `min by (pipeline, flow, source) (tidemark_retention_headroom_seconds{${all}})`,
            '{{pipeline}} {{flow}} {{source}}',
          ],
        ]),
        graph(
          'Offsets before the checkpoint',
          'short',
          'Between the start of the log and the checkpoint; 0 while records wait is the edge.',
          [
            [
              `min by (pipeline, flow, source) (tidemark_retention_headroom_records{${all}})`,
              '{{pipeline}} {{flow}} {{source}}',
            ],
          ],
        ),
        graph(
          'Records lost',
          'short',
          'Records that were gone before they were read, in the interval.',
          [
            [
              sumBy(
                'flow, source',
                `increase(tidemark_retention_lost_records_total{${all}}[$__rate_interval])`,
              ),
              '{{flow}} {{source}}',
            ],
          ],
        ),
        graph('Time to catch up', 's', 'What waits, at the rate of the last interval.', [
          [
            `${sumBy('pipeline, flow', `tidemark_source_lag_records{${all}}`)} / ${sumBy('pipeline, flow', rate('tidemark_input_records_total', all))}`,
            '{{pipeline}} {{flow}}',
          ],
        ]),
      ],
    },
    {
      title: 'Full refreshes',
      panels: [
        graph(
          'Records that can not be read again',
          'short',
          'Read by the flow, and gone from the source: what a full refresh now would miss.',
          [
            [
              sumBy('pipeline, flow, source', `tidemark_full_refresh_loss_records{${all}}`),
              '{{pipeline}} {{flow}} {{source}}',
            ],
          ],
        ),
        graph(
          'Progress',
          'percentunit',
          'Share of the records that the last full refresh has read.',
          [
            [
              `max by (pipeline, table) (tidemark_full_refresh_progress_ratio{${all}})`,
              '{{pipeline}} {{table}}',
            ],
          ],
        ),
        graph('Under way', 'short', '1 while a full refresh is under way.', [
          [
            `max by (pipeline, table) (tidemark_full_refresh_active{${all}})`,
            '{{pipeline}} {{table}}',
          ],
        ]),
        graph('Refreshes by result', 'short', 'Full refreshes that ended in the interval.', [
          [
            `max by (pipeline, table, result) (increase(tidemark_full_refreshes_total{${all}}[$__rate_interval]))`,
            '{{pipeline}} {{table}} {{result}}',
          ],
        ]),
      ],
    },
    {
      title: 'Restores',
      panels: [
        graph('Partitions restoring', 'short', 'Partitions whose state is brought to the end.', [
          [
            sumBy('pipeline, flow', `tidemark_restoring_partitions{${all}}`),
            '{{pipeline}} {{flow}}',
          ],
        ]),
        graph('Left to restore', 'short', 'Offsets that restores still have to read.', [
          [
            sumBy('pipeline, flow', `tidemark_state_rebuild_remaining_records{${all}}`),
            '{{pipeline}} {{flow}}',
          ],
        ]),
        graph(
          'Restores completed',
          'short',
          'Restores in the interval, and the records they read.',
          [
            [
              sumBy(
                'flow, reason',
                `increase(tidemark_state_rebuilds_total{${all}}[$__rate_interval])`,
              ),
              '{{flow}} restores: {{reason}}',
            ],
            [
              sumBy(
                'flow',
                `increase(tidemark_state_rebuild_records_total{${all}}[$__rate_interval])`,
              ),
              '{{flow}} records',
            ],
          ],
        ),
        graph('Restore time', 's', 'Time of one completed restore.', [
          [quantile(0.5, 'tidemark_state_rebuild_duration_seconds', all), 'p50'],
          [quantile(0.99, 'tidemark_state_rebuild_duration_seconds', all), 'p99'],
        ]),
      ],
    },
  ],
};

const dashboards: readonly Dashboard[] = [overview, flow, retention];

/** File name → text of a dashboard that Grafana imports. */
export function dashboardFiles(): ReadonlyMap<string, string> {
  return new Map(
    dashboards.map((dashboard) => [
      `${dashboard.uid}.json`,
      `${JSON.stringify(render(dashboard), undefined, 2)}\n`,
    ]),
  );
}

const width = 24;

function render({ uid, title, description, isOfOneFlow, rows }: Dashboard): object {
  const panels: object[] = [];
  let id = 0;
  let y = 0;
  for (const row of rows) {
    id += 1;
    panels.push({
      id,
      type: 'row',
      title: row.title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: width, h: 1 },
    });
    y += 1;
    for (const group of [
      row.panels.filter(({ kind }) => kind === 'stat'),
      row.panels.filter(({ kind }) => kind === 'graph'),
    ]) {
      const [first] = group;
      if (first === undefined) continue;
      const h = first.kind === 'stat' ? 4 : 8;
      const perLine = first.kind === 'stat' ? 6 : group.length % 3 === 0 ? 3 : 2;
      const w = width / perLine;
      for (const [index, panel] of group.entries()) {
        id += 1;
        const x = (index % perLine) * w;
        panels.push(renderPanel(panel, id, { x, y: y + Math.floor(index / perLine) * h, w, h }));
      }
      y += Math.ceil(group.length / perLine) * h;
    }
  }
  return {
    uid,
    title,
    description,
    tags: ['tidemark'],
    schemaVersion: 39,
    version: 1,
    editable: true,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    timezone: 'browser',
    links: [
      {
        type: 'dashboards',
        title: 'Tidemark',
        tags: ['tidemark'],
        asDropdown: true,
        includeVars: true,
        keepTime: true,
      },
    ],
    annotations: {
      list: [
        {
          name: 'Rebalances',
          datasource,
          enable: true,
          iconColor: 'orange',
          expr: `sum by (pipeline, flow) (changes(tidemark_rebalances_total{${all}}[$__interval])) > 0`,
          titleFormat: 'Rebalance',
          textFormat: '{{pipeline}} {{flow}}',
        },
      ],
    },
    templating: { list: variables(isOfOneFlow) },
    panels,
  };
}

const datasource = { type: 'prometheus', uid: '${datasource}' };

function variables(isOfOneFlow: boolean): object[] {
  const of = (name: string, label: string, query: string): object => ({
    name,
    label,
    type: 'query',
    datasource,
    query: { query, refId: name },
    definition: query,
    refresh: 2,
    sort: 1,
    includeAll: true,
    allValue: '.*',
    multi: name !== 'flow',
    current: { text: 'All', value: '$__all' },
  });
  return [
    { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' },
    of('namespace', 'Namespace', 'label_values(tidemark_build_info, namespace)'),
    of(
      'pipeline',
      'Pipeline',
      'label_values(tidemark_build_info{namespace=~"$namespace"}, pipeline)',
    ),
    ...(isOfOneFlow
      ? [
          of(
            'flow',
            'Flow',
            'label_values(tidemark_info{namespace=~"$namespace",pipeline=~"$pipeline"}, flow)',
          ),
        ]
      : []),
  ];
}

function renderPanel(panel: Panel, id: number, gridPos: object): object {
  const { kind, title, unit, description, targets, redFrom, redBelow, isStacked } = panel;
  const steps =
    redFrom !== undefined
      ? [
          { color: 'green', value: null },
          { color: 'red', value: redFrom },
        ]
      : redBelow !== undefined
        ? [
            { color: 'red', value: null },
            { color: 'green', value: redBelow },
          ]
        : [{ color: 'text', value: null }];
  const custom =
    kind === 'graph'
      ? {
          lineWidth: 1,
          fillOpacity: isStacked === true ? 40 : 10,
          showPoints: 'never',
          stacking: { mode: isStacked === true ? 'normal' : 'none' },
        }
      : undefined;
  return {
    id,
    type: kind === 'stat' ? 'stat' : 'timeseries',
    title,
    description,
    datasource,
    gridPos,
    fieldConfig: {
      defaults: {
        unit,
        ...(kind === 'graph' ? { min: 0, custom } : {}),
        thresholds: { mode: 'absolute', steps },
      },
      overrides: [],
    },
    options:
      kind === 'stat'
        ? { reduceOptions: { calcs: ['lastNotNull'] }, colorMode: 'value', graphMode: 'area' }
        : {
            legend: { displayMode: 'list', placement: 'bottom', showLegend: true },
            tooltip: { mode: 'multi', sort: 'desc' },
          },
    targets: targets.map(({ expr, legend }, index) => ({
      refId: String.fromCharCode(65 + index),
      datasource,
      expr,
      legendFormat: legend === '' ? '__auto' : legend,
      range: kind === 'graph',
      instant: kind === 'stat',
    })),
  };
}
