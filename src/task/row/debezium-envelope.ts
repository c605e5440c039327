import type { Span } from '../../data/bytes.ts';
import { type JsonDecoder, jsonDecoder } from '../../data/json-decode.ts';
import { kindMissing, kindNull, kindObject } from '../../data/json-lex.ts';
import { JsonObjectScanner, scanOk } from '../../data/json-scan.ts';
import type { Misfit } from '../../data/misfit.ts';
import type { Column } from '../../data/types.ts';
import type { Value } from '../../data/value.ts';
import { type BadRow, malformedRecord } from './bad-row.ts';

/** A column that is no member of the row image. */
type AroundColumn = {
  readonly position: number;
  readonly read: (bytes: Buffer) => Value | Misfit;
};

const members = ['op', 'before', 'after', 'source', 'payload', 'ts_ms', 'ts_us', 'ts_ns'] as const;
type Member = (typeof members)[number];

/** Names of Debezium's own for what it puts around a row (its transformation ExtractNewRecordState). */
const sourcePrefix = '__source_';

/**
 * Takes the envelope of a Debezium change off: the columns of a source are the members of the row image (`after`, of a
 * delete `before`), and those that begin with `__` stand around it: `__op`, `__deleted`, `__ts_ms`, `__ts_us`, `__ts_ns`
 * and `__source_…` for the members of `source`. Invariant: an envelope without the image that its operation needs is a
 * bad row, never a row of NULLs.
 */
export class DebeziumEnvelope {
  readonly around: readonly AroundColumn[];
  readonly #envelope = new JsonObjectScanner(members);
  readonly #source: JsonObjectScanner;
  /** Whether `source` of the current record was scanned. */
  #hasSource = false;
  #op = '';

  constructor(columns: readonly Column[], zone: Parameters<typeof jsonDecoder>[1]) {
    const fields: string[] = [];
    const around: AroundColumn[] = [];
    for (const [position, { name, type }] of columns.entries()) {
      const decode = jsonDecoder(type, zone);
      const field = name.startsWith(sourcePrefix) ? name.slice(sourcePrefix.length) : undefined;
      const member = members.find((one) => name === `__${one}`);
      if (field !== undefined) {
        const index = fields.push(field) - 1;
        around.push({ position, read: (bytes) => this.#fieldOf(bytes, index, decode) });
      } else if (name === '__deleted') {
        const isText = type.kind === 'string';
        around.push({
          position,
          read: () => (isText ? String(this.#op === 'd') : this.#op === 'd'),
        });
      } else if (member !== undefined) {
        around.push({ position, read: (bytes) => this.#memberOf(bytes, member, decode) });
      }
    }
    this.around = around;
    this.#source = new JsonObjectScanner(fields);
  }

  /** The row image; `none`: a truncate has none; `message`: it is about no row at all. */
  read(bytes: Buffer, start: number, end: number): Span | 'none' | 'message' | BadRow {
    let verdict = this.#envelope.scan(bytes, start, end);
    if (verdict !== scanOk) return malformedRecord(verdict);
    if (this.#kind('op') === kindMissing && this.#kind('payload') === kindObject) {
      // The converter was told to write the schema with each record.
      const payload = this.#span(bytes, 'payload');
      verdict = this.#envelope.scan(bytes, payload.start, payload.end);
      if (verdict !== scanOk) return malformedRecord(verdict);
    }
    if (this.#kind('op') === kindMissing) return noEnvelope('it has no member "op"');
    const op = this.#span(bytes, 'op');
    this.#op = bytes.toString('latin1', op.start, op.end);
    if (this.#op === 'm') return 'message';
    this.#hasSource = false;
    if (this.#kind('source') === kindObject) {
      const source = this.#span(bytes, 'source');
      verdict = this.#source.scan(bytes, source.start, source.end);
      if (verdict !== scanOk) return malformedRecord(verdict);
      this.#hasSource = true;
    }
    if (this.#op === 't') return 'none';
    const image = this.#op === 'd' ? 'before' : 'after';
    if (this.#kind(image) !== kindObject) {
      return noEnvelope(`its operation is "${this.#op}", and it has no member "${image}"`);
    }
    return this.#span(bytes, image);
  }

  #kind(member: Member): number {
    return this.#envelope.kinds[members.indexOf(member)] ?? kindMissing;
  }

  #span(bytes: Buffer, member: Member): Span {
    const { spans } = this.#envelope;
    const at = members.indexOf(member) * 2;
    return { bytes, start: spans[at] ?? 0, end: spans[at + 1] ?? 0 };
  }

  #memberOf(bytes: Buffer, member: Member, decode: JsonDecoder): Value | Misfit {
    const kind = this.#kind(member);
    if (kind === kindMissing || kind === kindNull) return null;
    const { start, end } = this.#span(bytes, member);
    return decode(bytes, start, end, kind as Parameters<JsonDecoder>[3]);
  }

  #fieldOf(bytes: Buffer, index: number, decode: JsonDecoder): Value | Misfit {
    const { kinds, spans } = this.#source;
    const kind = this.#hasSource ? (kinds[index] ?? kindMissing) : kindMissing;
    if (kind === kindMissing || kind === kindNull) return null;
    const [start = 0, end = 0] = [spans[index * 2], spans[index * 2 + 1]];
    return decode(bytes, start, end, kind as Parameters<JsonDecoder>[3]);
  }
}

function noEnvelope(reason: string): BadRow {
  return { errorClass: 'MALFORMED_RECORD', message: `it is no change of Debezium: ${reason}` };
}
