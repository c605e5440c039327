import { FlowError } from '../../src/base/errors.ts';
import type { Log, LogProducer } from '../../src/ports/log.ts';

/** What no broker is asked for. */
const localCalls = ['append', 'assign', 'unassign', 'range', 'wake', 'close', 'onStatus'];

type AnyFunction = (...args: unknown[]) => unknown;

/**
 * A log that answers so many calls and then never works again, as for a process that is killed between two of them: the
 * call at the bound has its effect or not, and its answer is lost.
 */
export class FailingLog {
  readonly log: Log;
  calls = 0;
  readonly #callsMax: number;
  readonly #hasEffect: boolean;

  constructor(log: Log, callsMax: number, hasEffect: boolean) {
    this.#callsMax = callsMax;
    this.#hasEffect = hasEffect;
    this.log = this.#guard(log);
  }

  get hasFailed(): boolean {
    return this.calls > this.#callsMax;
  }

  #guard<Target extends object>(target: Target): Target {
    return new Proxy(target, {
      get: (inner, name) => {
        const member: unknown = Reflect.get(inner, name, inner);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]) => this.#call(inner, name, member as AnyFunction, args);
      },
    });
  }

  #call(target: object, name: string | symbol, member: AnyFunction, args: unknown[]) {
    const call = () => member.apply(target, args);
    if (name === 'openReader' || name === 'joinGroup') return this.#guard(call() as object);
    if (localCalls.includes(String(name))) return call();
    this.calls += 1;
    if (this.calls > this.#callsMax) {
      const isLast = this.calls === this.#callsMax + 1;
      const effect = isLast && this.#hasEffect ? Promise.resolve(call()) : Promise.resolve();
      return effect.then(() => {
        throw new FlowError('BROKER_UNAVAILABLE', 'the process was killed');
      });
    }
    const answer = call();
    if (name !== 'openProducer') return answer;
    return (answer as Promise<LogProducer>).then((producer) => this.#guard(producer));
  }
}
