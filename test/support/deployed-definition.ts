import { planPipeline } from '../../src/plan/plan-pipeline.ts';
import {
  type DeployedFlow,
  deployedFlow,
  readDeployedFlow,
} from '../../src/refresh/deployed-flow.ts';

/** The parts of a pipeline of one REPLACE USING flow; what is left out is as usual. */
export type Definition = {
  readonly source?: string;
  readonly columns?: string;
  readonly table?: string;
  readonly options?: string;
  readonly using?: string;
  readonly sequence?: string;
  readonly query?: string;
  readonly settings?: string;
};

const columns = 'k STRING, k2 STRING, seq BIGINT, n INT, big BIGINT, v STRING, list ARRAY<INT>';

/** The definition as it comes back from the catalog: that of the flow, or of a join in its query. */
export function deployed(definition: Definition, join = ''): DeployedFlow {
  const { source = `topic = 'st'`, columns: read = columns, table = 't' } = definition;
  const { options = '', using = 'k', sequence = 'seq', settings = '' } = definition;
  const query = definition.query ?? 'SELECT k, seq, n, v FROM STREAM(s)';
  const text = `${settings}
CREATE SOURCE s (${read}) WITH (${source});
CREATE SOURCE r (${read}) WITH (topic = 'rt');
CREATE STREAMING TABLE ${table} ${options} FLOW REPLACE USING (${using}) SEQUENCE BY ${sequence} BY NAME ${query};`;
  const { plan, faults } = planPipeline([{ file: 'a.sql', text }]);
  const flow = plan?.flows.find(({ name }) => name === `${table}${join}`);
  const found = plan?.tables.find(({ name }) => name === flow?.target);
  if (flow === undefined || found === undefined) throw new Error(JSON.stringify(faults));
  const stored = JSON.parse(JSON.stringify(deployedFlow(flow, found))) as Record<string, unknown>;
  const read2 = readDeployedFlow(stored);
  if (read2 === undefined) throw new Error('a stored definition is readable');
  return read2;
}
