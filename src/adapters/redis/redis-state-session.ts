import { randomBytes } from 'node:crypto';
import type { Command } from 'ioredis';
import { FlowError } from '../../base/errors.ts';
import type {
  StateKey,
  StateMark,
  StateSession,
  StateView,
  StateWrite,
} from '../../ports/state-store.ts';
import type { RedisClient } from './redis-client.ts';
import { isMissingScript, redisError } from './redis-errors.ts';
import {
  keyOfField,
  plainRequest,
  readRequest,
  type WritePiece,
  writeRequest,
} from './redis-requests.ts';
import { cutField, epochField, markField, redisScripts } from './redis-scripts.ts';

const pieceKeysMax = 1_000;
/** Keeps a piece's script far below 50 ms, in which the server serves nobody else. */
const pieceBytesMax = 1 << 20;
/** Pieces that are under way at once. */
const windowPieces = 8;
const scanPieceKeys = 500;
const noMark = '-';

export type RedisSessionOptions = {
  readonly client: RedisClient;
  /** Name of the task's hash. */
  readonly hash: string;
  readonly epoch: number;
  readonly mark: StateMark | undefined;
};

/**
 * One task's state in one hash of Redis. Invariant: commands of a session run one after the other, so the
 * pieces of a read or of a write are never mixed with those of another; what other clients do in between is
 * caught by the scripts and by comparing the marks of the pieces.
 */
export class RedisStateSession implements StateSession {
  readonly #client: RedisClient;
  readonly #hash: string;
  readonly #epoch: number;
  readonly #id = randomBytes(6).toString('hex');
  #attempts = 0;
  #seen: StateMark | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: RedisSessionOptions) {
    this.#client = options.client;
    this.#hash = options.hash;
    this.#epoch = options.epoch;
    this.#seen = options.mark;
  }

  mark(): Promise<StateMark | undefined> {
    return this.#inTurn(async () => {
      this.#seen = decodeMark(await this.#client.send(plainRequest('HGET', this.#hash, markField)));
      return this.#seen;
    });
  }

  read(keys: readonly StateKey[]): Promise<StateView> {
    return this.#inTurn(async () => {
      const entries: (Buffer | undefined)[] = [];
      let stand: string | undefined;
      let mark: unknown;
      const windowKeys = pieceKeysMax * windowPieces;
      for (let start = 0; start < keys.length || stand === undefined; start += windowKeys) {
        const requests = this.#readRequests(keys, start, Math.min(start + windowKeys, keys.length));
        for (const outcome of await this.#client.sendAll(requests)) {
          const reply = this.#value(outcome) as (Buffer | null)[];
          const pieceStand = `${reply[0] ?? noMark} ${reply[1] ?? noMark}`;
          stand ??= pieceStand;
          if (pieceStand !== stand) {
            throw this.#corrupted('changed while it was read');
          }
          mark = reply[0];
          for (let index = 2; index < reply.length; index++) {
            entries.push(reply[index] ?? undefined);
          }
        }
      }
      this.#seen = decodeMark(mark);
      return { mark: this.#seen, entries };
    });
  }

  write(write: StateWrite): Promise<void> {
    return this.#inTurn(async () => {
      const arrived = (await this.#attempt(write, false)) || (await this.#attempt(write, true));
      if (!arrived) {
        throw new FlowError('STATE_UNAVAILABLE', 'redis forgets a script while it is sent');
      }
      this.#seen = write.mark;
    });
  }

  clear(): Promise<void> {
    return this.#inTurn(async () => {
      const request = plainRequest('EVAL', redisScripts.clear, '1', this.#hash, `${this.#epoch}`);
      const reply = (await this.#client.send(request)) as (Buffer | number)[];
      if (reply[0] !== 1) {
        throw this.#corrupted(
          'is no longer ours',
          `Its epoch is ${`${reply[1]}` || 'missing'}, ours is ${this.#epoch}.`,
        );
      }
      this.#seen = undefined;
    });
  }

  async *scan(): AsyncGenerator<readonly (readonly [StateKey, Buffer])[]> {
    let cursor = '0';
    do {
      const from = cursor;
      const piece = await this.#inTurn(async () => {
        const outcomes = await this.#client.sendAll([
          plainRequest('HSCAN', this.#hash, from, 'COUNT', `${scanPieceKeys}`),
          plainRequest('HGET', this.#hash, epochField),
        ]);
        const [next, fields] = this.#value(outcomes[0]) as [Buffer, Buffer[]];
        // Without it, the rest of a state that is gone would look like the end of the state.
        if (`${this.#value(outcomes[1])}` !== `${this.#epoch}`) {
          throw this.#corrupted('is no longer ours');
        }
        cursor = next.toString('latin1');
        return entriesOf(fields);
      });
      if (piece.length > 0) yield piece;
    } while (cursor !== '0');
  }

  keyCount(): Promise<number> {
    return this.#inTurn(async () => {
      const fields = [epochField, markField, cutField];
      const outcomes = await this.#client.sendAll([
        plainRequest('HLEN', this.#hash),
        plainRequest('HMGET', this.#hash, ...fields),
      ]);
      const found = this.#value(outcomes[1]) as (Buffer | null)[];
      return Number(this.#value(outcomes[0])) - found.filter((field) => field !== null).length;
    });
  }

  async close(): Promise<void> {
    await this.#turn;
  }

  #readRequests(keys: readonly StateKey[], start: number, end: number): Command[] {
    const requests: Command[] = [];
    let from = start;
    do {
      const to = Math.min(from + pieceKeysMax, end);
      requests.push(readRequest(this.#hash, keys, from, to));
      from = to;
    } while (from < end);
    return requests;
  }

  /** Sends all pieces of a write; false when the server did not know the script. */
  async #attempt(write: StateWrite, byText: boolean): Promise<boolean> {
    const pieces = {
      hash: this.#hash,
      epoch: this.#epoch,
      from: encodeMark(this.#seen),
      to: encodeMark(write.mark),
      attempt: `${this.#id}.${this.#attempts++}`,
    };
    let start = 0;
    let index = 0;
    do {
      const requests: Command[] = [];
      do {
        const end = pieceEnd(write, start);
        const isLast = end === write.entries.count;
        const piece: WritePiece = { ...pieces, index, isLast, start, end };
        requests.push(writeRequest(piece, write, byText));
        start = end;
        index++;
      } while (start < write.entries.count && requests.length < windowPieces);
      for (const outcome of await this.#client.sendAll(requests)) {
        if (outcome.status === 'rejected' && isMissingScript(outcome.reason)) {
          return false;
        }
        const reply = this.#value(outcome) as (Buffer | number)[];
        if (reply[0] !== 1) {
          throw this.#refused(reply);
        }
      }
    } while (start < write.entries.count);
    return true;
  }

  #refused(reply: readonly (Buffer | number)[]): FlowError {
    const [, epoch, mark, cut] = reply.map(String);
    if (epoch !== `${this.#epoch}`) {
      return this.#corrupted(
        'is no longer ours',
        `Its epoch is ${epoch || 'missing'}, ours is ${this.#epoch}.`,
      );
    }
    const stand = cut ? `in the middle of write ${cut}` : `at ${mark || 'no mark'}`;
    return this.#corrupted(
      'stands elsewhere than this session left it',
      `It stands ${stand}, and was last seen at ${encodeMark(this.#seen)}.`,
    );
  }

  #corrupted(what: string, detail?: string): FlowError {
    return new FlowError(
      'TASK_CORRUPTED',
      `the state "${this.#hash}" ${what}`,
      detail === undefined ? {} : { detail },
    );
  }

  #value(outcome: PromiseSettledResult<unknown> | undefined): unknown {
    if (outcome?.status !== 'fulfilled') {
      throw redisError(outcome?.reason, this.#client.server);
    }
    return outcome.value;
  }

  #inTurn<Result>(run: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(run);
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

/** Where the piece of a write that begins at `start` ends, so that both its keys and its bytes are bounded. */
function pieceEnd({ entries }: StateWrite, start: number): number {
  const last = Math.min(start + pieceKeysMax, entries.count);
  let bytes = 0;
  let end = start;
  while (end < last && bytes < pieceBytesMax) {
    bytes += entries.keyLength(end) + Math.max(entries.valueLength(end), 0);
    end++;
  }
  return end;
}

function entriesOf(fields: readonly Buffer[]): (readonly [StateKey, Buffer])[] {
  const entries: (readonly [StateKey, Buffer])[] = [];
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const [field, value] = [fields[index], fields[index + 1]];
    const key = field === undefined ? undefined : keyOfField(field);
    if (key !== undefined && value !== undefined) entries.push([key, value]);
  }
  return entries;
}

/** Offsets and topic ids as one word. */
function encodeMark(mark: StateMark | undefined): string {
  if (mark === undefined) return noMark;
  const positions = mark.levels === undefined ? [mark] : [mark, mark.levels];
  return positions
    .map(({ offset, topicId }) => `${offset}:${encodeURIComponent(topicId)}`)
    .join(':');
}

export function decodeMark(reply: unknown): StateMark | undefined {
  if (!Buffer.isBuffer(reply)) {
    return undefined;
  }
  const [offset, topicId = '', levelsOffset, levelsTopicId] = reply.toString('latin1').split(':');
  const mark = { topicId: decodeURIComponent(topicId), offset: Number(offset) };
  if (levelsTopicId === undefined) return mark;
  const levels = { topicId: decodeURIComponent(levelsTopicId), offset: Number(levelsOffset) };
  return { ...mark, levels };
}
