import { describe, expect, test } from 'vitest';
import { selectTables } from '../../../src/cli/select-tables.ts';
import { planned } from '../../support/append-world.ts';

const sql = `CREATE SOURCE a (k INT, seq BIGINT, at TIMESTAMP);
CREATE SOURCE b (k INT, seq BIGINT, at TIMESTAMP);
CREATE STREAMING TABLE raw AS SELECT * FROM STREAM(a);
CREATE STREAMING TABLE cur FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq FROM STREAM(raw);
CREATE STREAMING TABLE pairs AS SELECT l.k, r.seq FROM STREAM(a) l JOIN STREAM(b) r ON l.k = r.k;
CREATE STREAMING TABLE once AS SELECT DISTINCT l.k FROM STREAM(a) l JOIN STREAM(b) r ON l.k = r.k LIMIT 3;
CREATE STREAMING TABLE slice (k INT, n BIGINT);
CREATE FLOW slices AS INSERT INTO slice BY NAME REPLACE WHERE k > 1 SELECT k, count(*) AS n FROM cur WHERE k > 1 GROUP BY k;
CREATE MATERIALIZED VIEW counts AS SELECT k, count(*) AS n FROM cur GROUP BY k;`;

function selected(...names: readonly string[]): {
  readonly flows: readonly string[];
  readonly batches: readonly string[];
} {
  const { flows, materializedViews } = selectTables(planned(sql), names);
  return {
    flows: flows.map(({ kind, name }) => (kind === 'join' ? 'join' : name)),
    batches: materializedViews.map(({ name }) => name),
  };
}

describe('run --table', () => {
  test('without a name it is everything', () => {
    expect(selected()).toEqual({
      flows: ['join', 'join', 'once.distinct', 'raw', 'cur', 'pairs', 'once'],
      batches: ['slices', 'counts'],
    });
  });

  test('a table is what writes it, whatever reads it and whatever it reads', () => {
    expect(selected('CUR')).toEqual({ flows: ['cur'], batches: [] });
    expect(selected('raw', 'cur')).toEqual({ flows: ['raw', 'cur'], batches: [] });
  });

  test('a join of two streams comes along with the flow that has it in its query', () => {
    expect(selected('pairs')).toEqual({ flows: ['join', 'pairs'], batches: [] });
    const ofDistinct = { flows: ['join', 'once.distinct', 'once'], batches: [] };
    expect(selected('once')).toEqual(ofDistinct);
  });

  test('a materialized view, and the table of a REPLACE WHERE flow by its own name', () => {
    expect(selected('counts')).toEqual({ flows: [], batches: ['counts'] });
    expect(selected('slice')).toEqual({ flows: [], batches: ['slices'] });
  });

  test('what is not there is refused by name', () => {
    expect(() => selected('slices')).toThrow('the pipeline has no table "slices"');
  });
});
