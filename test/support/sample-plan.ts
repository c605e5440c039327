import type { Place } from '../../src/base/place.ts';
import type { Column } from '../../src/data/types.ts';
import type { Expression } from '../../src/expr/expression.ts';
import { hiddenColumns, type OutputMode, type PipelinePlan } from '../../src/plan/pipeline-plan.ts';

const place: Place = { file: 'sample.sql', start: 0, end: 0, line: 1, column: 1 };

const columns: readonly Column[] = [
  { name: 'k', type: { kind: 'int' } },
  { name: 'seq', type: { kind: 'bigint' } },
  { name: 'v', type: { kind: 'string' } },
];

function column(index: number): Expression {
  const { name, type } = columns[index] as Column;
  return { node: 'column', type, index, name, place };
}

/** `SELECT k, seq, v FROM STREAM(src)` into table `t`, REPLACE USING (k) SEQUENCE BY seq: a plan without a parser. */
export function samplePlan(output: OutputMode = 'row_set'): PipelinePlan {
  return {
    sources: [
      {
        name: 'src',
        topic: 'src',
        format: 'json',
        columns: [...columns, ...hiddenColumns],
        tombstones: 'skip',
      },
    ],
    tables: [
      {
        name: 't',
        topic: 't',
        columns,
        expectations: [],
        output,
        partitions: undefined,
        deadLetterTopic: 't.dlq',
        deadLetterShareMax: 0.5,
        rowSetRowsMax: 100_000,
        sequenceAheadMaxMicros: undefined,
        sequenceMax: undefined,
        place,
      },
    ],
    flows: [
      {
        kind: 'replace_using',
        name: 't',
        target: 't',
        branches: [
          {
            source: 'src',
            steps: [
              {
                step: 'project',
                columns: columns.map(({ name }, index) => ({ name, value: column(index) })),
              },
            ],
          },
        ],
        distinct: false,
        keys: [0],
        sequence: column(1),
        sequenceType: { kind: 'bigint' },
        emptyWhen: undefined,
        fingerprint: 'sample',
        definition: {
          kind: 'replace_using',
          timeZone: 'UTC',
          keys: ['k'],
          sequence: '#1:bigint',
          sequenceValue: '"seq":bigint',
          sequenceColumns: ['seq'],
          sequenceType: 'bigint',
          emptyWhen: undefined,
          emptyWhenValue: undefined,
          distinct: false,
          columns: ['k int', 'seq bigint', 'v string'],
          branches: [],
        },
        place,
      },
    ],
    materializedViews: [],
    timeZone: 'UTC',
    warnings: [],
  };
}
