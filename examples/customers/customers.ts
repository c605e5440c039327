import { literal, pipeline, stream } from 'tidemark';

/** The customers of two regions, kept apart by their systems, in one table: a flow for each source. */
const p = pipeline();

const columns = { id: 'INT', name: 'STRING', email: 'STRING', version: 'BIGINT' } as const;
export const west = p.source('customers_west', { topic: 'customers.west', columns });
export const east = p.source('customers_east', { topic: 'customers.east', columns });

export const customersUs = p
  .createStreamingTable({
    name: 'customers_us',
    columns: { ...columns, region: 'STRING' },
    comment: 'Every version of every customer, as it came',
  })
  .expectOrDrop('named', (row) => row.name.isNotNull())
  .expect('reachable', (row) => row.email.like('%@%'));

// A third region is one more flow; the others keep their checkpoints.
p.appendFlow({
  name: 'append_west',
  target: customersUs,
  query: stream(west).withColumns(() => ({ region: literal('west') })),
});
p.appendFlow({
  name: 'append_east',
  target: customersUs,
  query: stream(east).withColumns(() => ({ region: literal('east') })),
});

export const customersCurrent = p.table({
  name: 'customers_current',
  replaceUsing: ['id'],
  sequenceBy: 'version',
  query: stream(customersUs).select('id', 'name', 'email', 'region', 'version'),
});

export default p;
