import type { Place } from '../../base/place.ts';
import { nameKey } from '../bind/names.ts';
import { type FaultList, planWarning } from '../faults.ts';
import type { BoundRelation } from '../relation.ts';

const envelopeMembers = ['op', 'before', 'after'];

/** Warns where a source has the columns of a Debezium envelope: its changes are those of AUTO CDC (CH-02). */
export function warnOfEnvelope(relation: BoundRelation, place: Place, faults: FaultList): void {
  for (const { source } of relation.branches) {
    const names = new Set(source.columns.map(({ name }) => nameKey(name)));
    if (source.format !== 'json' || !envelopeMembers.every((name) => names.has(name))) continue;
    faults.add(
      planWarning(
        'CDC_FEED',
        `source "${source.name}" looks like a change feed of Debezium`,
        place,
        {
          detail:
            'It has the columns op, before and after: each record is an insert, an update or a delete of one row.',
          hint: "Declare it WITH (format = 'debezium-json') by the columns of its rows, and merge it with AUTO CDC: KEYS (…) APPLY AS DELETE WHEN __op = 'd' SEQUENCE BY __source_lsn.",
        },
      ),
    );
  }
}
