import type { NewRecord } from '../../adapters/memory/memory-log.ts';
import { FlowError } from '../../base/errors.ts';
import {
  type JsonKind,
  kindAscii,
  kindInteger,
  kindMissing,
  kindNull,
  kindNumber,
  kindText,
} from '../../data/json-lex.ts';
import { JsonObjectScanner, scanOk, scanVerdictText } from '../../data/json-scan.ts';
import { decodeJsonString } from '../../data/json-text.ts';

/** One line of an input file: a record, and its partition where the line names one. */
export type TryRecord = { readonly record: NewRecord; readonly partition: number | undefined };

const envelopeMembers = ['key', 'value', 'partition', 'timestamp', 'headers'];

/**
 * Reads the lines of an input file. Without envelope a line is the record's value, byte for byte. With it a line
 * is `{"key", "value", "partition", "timestamp", "headers"}`: a string stands for its characters, null for
 * null, anything else for its JSON text as it was written.
 * Invariant: no number passes through a double on its way into a record.
 */
export class TryInputReader {
  readonly #file: string;
  readonly #scanner = new JsonObjectScanner(envelopeMembers);
  readonly #isEnvelope: boolean;

  constructor(file: string, isEnvelope: boolean) {
    this.#file = file;
    this.#isEnvelope = isEnvelope;
  }

  /** Empty lines are left out. */
  read(text: string): TryRecord[] {
    return text.split('\n').flatMap((raw, index) => {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line.trim() === '') return [];
      if (!this.#isEnvelope) return [{ record: { value: line }, partition: undefined }];
      return [this.#envelope(Buffer.from(line, 'utf8'), index + 1)];
    });
  }

  #envelope(line: Buffer, lineNumber: number): TryRecord {
    const verdict = this.#scanner.scan(line, 0, line.length);
    if (verdict !== scanOk) throw this.#fault(lineNumber, scanVerdictText[verdict] ?? '');
    const member = (index: number): string | null => {
      const kind = (this.#scanner.kinds[index] ?? 0) as JsonKind;
      const start = this.#scanner.spans[index * 2] ?? 0;
      const end = this.#scanner.spans[index * 2 + 1] ?? 0;
      if (kind === kindMissing || kind === kindNull) return null;
      if (kind !== kindText && kind !== kindAscii) return line.toString('utf8', start, end);
      const text = decodeJsonString(line, start, end);
      if (text === undefined) throw this.#fault(lineNumber, 'it holds a lone surrogate');
      return text;
    };
    const partition = member(2);
    if (partition !== null && this.#scanner.kinds[2] !== kindInteger) {
      throw this.#fault(lineNumber, '"partition" is no whole number');
    }
    const timestampMs = this.#timestamp(member(3), this.#scanner.kinds[3], lineNumber);
    const headers = this.#headers(member(4), lineNumber);
    return {
      record: {
        key: member(0),
        value: member(1),
        ...(headers === undefined ? {} : { headers }),
        ...(timestampMs === undefined ? {} : { timestampMs }),
      },
      partition: partition === null ? undefined : Number(partition),
    };
  }

  /** Milliseconds since 1970, or a text that says when. */
  #timestamp(
    text: string | null,
    kind: number | undefined,
    lineNumber: number,
  ): number | undefined {
    if (text === null) return undefined;
    const isNumber = kind === kindInteger || kind === kindNumber;
    const timestampMs = isNumber ? Number(text) : Date.parse(text);
    if (!Number.isSafeInteger(timestampMs)) {
      throw this.#fault(lineNumber, '"timestamp" is neither milliseconds nor an ISO date and time');
    }
    return timestampMs;
  }

  #headers(text: string | null, lineNumber: number): Record<string, string> | undefined {
    if (text === null) return undefined;
    const headers: unknown = JSON.parse(text);
    if (typeof headers !== 'object' || headers === null || Array.isArray(headers)) {
      throw this.#fault(lineNumber, '"headers" is no object');
    }
    return Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        typeof value === 'string' ? value : JSON.stringify(value),
      ]),
    );
  }

  #fault(lineNumber: number, what: string): FlowError {
    return new FlowError('USAGE', `line ${lineNumber} of "${this.#file}" is no envelope: ${what}`, {
      hint: 'A line looks like {"key": "k", "value": {"id": 1}, "partition": 0, "timestamp": 0, "headers": {}}; every member may be left out.',
    });
  }
}
