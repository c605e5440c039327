import { expect, test } from 'vitest';
import { FlowError } from '../../../src/base/errors.ts';
import type { Log } from '../../../src/ports/log.ts';
import { workerOf, worldOf } from '../../support/append-world.ts';

const sql = `CREATE SOURCE src (id INT);
CREATE STREAMING TABLE t AS SELECT id FROM STREAM(src);`;

/** The first answers that an update waits for before it begins are lost. */
function losing(log: Log, answers: number): Log {
  let left = answers;
  return new Proxy(log, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...given: readonly unknown[]): unknown => {
        const isAsked = new Error().stack?.includes('TriggeredUpdate.start') === true;
        if (name === 'offsetRanges' && isAsked && left > 0) {
          left -= 1;
          return Promise.reject(new FlowError('BROKER_TIMEOUT', 'the answer was lost'));
        }
        return Reflect.apply(value, target, given) as unknown;
      };
    },
  });
}

test.each([1, 3])(
  'FL-02 an update that could not read its goals %i times reads them again, and then what they say',
  async (answers) => {
    const world = worldOf(sql);
    try {
      for (let id = 0; id < 5; id += 1) world.produce('src', { value: `{"id":${id}}` });
      const told: string[] = [];
      const log = losing(world.log.connect(), answers);
      const worker = await workerOf(world, sql, { once: true }, log, ({ event }) => {
        told.push(event);
      });
      await worker.run();
      expect(world.log.readCommitted('t')).toHaveLength(5);
      expect(told.filter((event) => event === 'recovering')).toHaveLength(answers);
    } finally {
      world.close();
    }
  },
);
