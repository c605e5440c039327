import { expect, test } from 'vitest';
import type { PipelinePlan } from '../../../src/plan/pipeline-plan.ts';
import { compileSource } from '../../../src/runtime/inspect/compile-source.ts';
import type { FlowFacts } from '../../../src/runtime/inspect/flow-facts.ts';
import { flowFacts } from '../../../src/runtime/inspect/pipeline-facts.ts';
import { noCatalog } from '../../../src/runtime/topics/catalog.ts';
import type { RowProgram } from '../../../src/task/row/row-program.ts';
import { RefreshWorld } from '../../support/refresh-world.ts';

const sql = `CREATE STREAMING TABLE t
FLOW REPLACE USING (k) SEQUENCE BY seq BY NAME SELECT k, seq, v FROM STREAM(a);`;

/** What one start finds and compiles. */
async function compiled(
  { log }: RefreshWorld,
  plan: PipelinePlan,
  changes: Partial<FlowFacts> = {},
) {
  const described = await log.describeTopics(['a', 't', 'p.t.repartition']);
  const known = { sources: described, outputs: described, catalog: noCatalog };
  const programs: RowProgram[] = [];
  for (const flow of plan.flows) {
    const facts = { ...flowFacts(flow, { plan, pipeline: 'p' }, known, described), ...changes };
    for (const source of facts.sources) {
      programs.push(...compileSource(facts as FlowFacts, source, () => () => []));
    }
  }
  return programs;
}

test('what follows from the plan alone is compiled once, whoever starts; of another plan or time zone it is another', async () => {
  const world = new RefreshWorld(sql, ['a'], 1);
  await world.update();
  const { plan } = world;
  const first = await compiled(world, plan);
  expect(first).toHaveLength(1);
  expect((await compiled(world, plan))[0]).toBe(first[0]);
  expect((await compiled(world, plan, { timeZone: 'Asia/Tokyo' }))[0]).not.toBe(first[0]);
  expect((await compiled(world, world.plan))[0]).not.toBe(first[0]);
});
