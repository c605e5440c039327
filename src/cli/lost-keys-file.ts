import { once } from 'node:events';
import { createWriteStream, type WriteStream } from 'node:fs';
import { topicIdHex, topicIdText } from '../data/provenance.ts';
import { truncateKey } from '../data/row-envelope.ts';
import type { KeyLoss } from '../refresh/loss.ts';
import type { RefreshFacts } from '../runtime/refresh/refresh-facts.ts';
import { usageError } from './command.ts';

/**
 * Writes the keys that a refresh would lose, one JSON object a line, as they are found. Invariant: the key is put in as
 * text, so that no digit of it is lost; a slow disk is waited for.
 */
export class LostKeysFile {
  readonly #path: string;
  readonly #stream: WriteStream;
  #failure: Error | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#stream = createWriteStream(path, { encoding: 'utf8' });
    this.#stream.on('error', (error) => {
      this.#failure = error;
    });
  }

  async add(loss: KeyLoss, facts: RefreshFacts): Promise<void> {
    this.#check();
    if (!this.#stream.write(lostKeyLine(loss, facts))) await once(this.#stream, 'drain');
  }

  async close(): Promise<void> {
    await new Promise<void>((done) => this.#stream.end(done));
    this.#check();
  }

  #check(): void {
    if (this.#failure === undefined) return;
    throw usageError(
      `file "${this.#path}" cannot be written (${(this.#failure as NodeJS.ErrnoException).code})`,
    );
  }
}

/** `{"key": {…}, "rows": n, "sources": [{"source", "partition", "offset"}]}` and a line end. */
export function lostKeyLine({ key, rows, level }: KeyLoss, facts: RefreshFacts): string {
  const parts = level === undefined ? rows : [...rows, level];
  const sources = parts.flatMap((part) =>
    part.sources.map(({ topicId, partition, offset, branch }) => ({
      source: sourceName(facts, topicId, branch),
      partition,
      offset,
      reason: part.reason,
      ...(sourceName(facts, topicId, branch) === null ? { topicId: topicIdText(topicId) } : {}),
    })),
  );
  // The last truncate is of all keys and of none.
  const json = key === truncateKey ? 'null' : Buffer.from(key, 'latin1').toString('utf8');
  const more = level === undefined ? '' : ',"level":true';
  return `{"key":${json},"rows":${rows.length},"sources":${JSON.stringify(sources)}${more}}\n`;
}

/** null: the row came from a topic that the flow does not read itself, or that was created anew. */
function sourceName(facts: RefreshFacts, topicId: string, branch: number): string | null {
  const name = facts.flows.length === 1 ? facts.flows[0]?.branches[branch]?.source : undefined;
  const known = facts.sources.filter((source) => source.topicId === topicIdHex(topicId));
  return (known.find(({ source }) => source === name) ?? known[0])?.source ?? null;
}
