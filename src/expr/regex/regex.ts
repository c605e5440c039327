import { ExpressionError } from '../expression-error.ts';
import { isLineEnd, isWordOfAnyScript, sameFolded } from './code-point-class.ts';
import { parseRegex } from './regex-parser.ts';
import { compileRegex, type Instruction, type Part, type RegexProgram } from './regex-program.ts';

/** Where a match and its groups stand: `[2i, 2i + 1)` is group i in UTF-16 units, -1 where it took no part. */
export type RegexMatch = Int32Array;

/**
 * A pattern of Java's syntax with Java's choice among matches. Invariant: a search takes time of at most
 * the size of the program times the length of the text, since no state is tried twice at a place; only
 * with back references can that not hold, and then the number of steps is bounded.
 */
export class Regex {
  readonly #program: RegexProgram;

  /** Throws RegexSyntaxError. */
  constructor(pattern: string) {
    this.#program = compileRegex(parseRegex(pattern));
  }

  get groupCount(): number {
    return this.#program.groupCount;
  }

  groupNamed(name: string): number | undefined {
    return this.#program.groupNames.get(name);
  }

  /** The first match that starts at `from` or later. */
  search(text: string, from = 0): RegexMatch | undefined {
    return new Matcher(this.#program, text).search(from);
  }

  /** All matches from left to right; they do not overlap. */
  *matches(text: string): Generator<RegexMatch> {
    const matcher = new Matcher(this.#program, text);
    let from = 0;
    let last = 0;
    while (from <= text.length) {
      const match = matcher.search(from, last);
      if (match === undefined) return;
      yield match;
      const [start = 0, end = 0] = match;
      from = end > start ? end : end + widthAt(text, end);
      last = end;
    }
  }
}

function widthAt(text: string, at: number): number {
  return (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
}

/** Bits of the states that were tried, for one program: 32 MiB at most. */
const stateBitsMax = 2 ** 28;
/** Steps of looks, atomic groups and back references, which may try a place more than once. */
const freeStepsMax = 10_000_000;

type Choice = { readonly pc: number; readonly at: number; readonly slots: Int32Array };

/** The states that were tried: place in the text times size of the program plus place in the program. */
type States = { readonly add: (state: number) => boolean };

type Limits = {
  readonly states: States;
  /** Where the match must end, for a look behind. */
  readonly end: number | undefined;
};

class Matcher {
  readonly #whole: RegexProgram;
  readonly #text: string;
  readonly #shared: BitStates | undefined;
  /** Of each part without groups the end of its match at a place, -1 where it has none. */
  readonly #partEnds = new Map<number, Map<number, number>>();
  #searchStart = 0;
  #freeSteps = 0;

  constructor(whole: RegexProgram, text: string) {
    this.#whole = whole;
    this.#text = text;
    this.#shared = whole.isMemorable ? new BitStates(whole.program.length, text.length) : undefined;
  }

  /**
   * What was tried in earlier searches stays tried: it failed, whatever the start. Only the states at
   * the end of the last match did not, and are forgotten.
   */
  search(from: number, lastEnd = from): RegexMatch | undefined {
    const { program, groupCount } = this.#whole;
    this.#searchStart = lastEnd;
    const limits = { states: this.#shared ?? this.#counted(), end: undefined };
    for (let start = from; start <= this.#text.length; start += widthAt(this.#text, start)) {
      const slots = new Int32Array((groupCount + 1) * 2).fill(-1);
      const found = this.#run(program, start, slots, limits);
      if (found !== undefined) {
        found[0] = start;
        this.#shared?.forget(found[1] ?? 0);
        return found;
      }
    }
    return undefined;
  }

  /** Takes every state, and counts them. */
  #counted(): States {
    return { add: () => this.#countStep() };
  }

  #countStep(): true {
    this.#freeSteps += 1;
    if (this.#freeSteps <= freeStepsMax) return true;
    throw new ExpressionError(
      'REGEX_STEP_LIMIT',
      'a regular expression with back references, looks or atomic groups took too many steps',
    );
  }

  /** Slot 1 of the result is the end. */
  #run(
    program: readonly Instruction[],
    start: number,
    slots: Int32Array,
    limits: Limits,
  ): Int32Array | undefined {
    const stack: Choice[] = [{ pc: 0, at: start, slots }];
    for (let choice = stack.pop(); choice !== undefined; choice = stack.pop()) {
      const result = this.#follow(program, choice, stack, limits);
      if (result !== undefined) return result;
    }
    return undefined;
  }

  /** Goes on from one choice until it matches or fails; other choices go onto the stack. */
  #follow(
    program: readonly Instruction[],
    choice: Choice,
    stack: Choice[],
    limits: Limits,
  ): Int32Array | undefined {
    let { pc, at, slots } = choice;
    while (limits.states.add(at * program.length + pc)) {
      const instruction = program[pc];
      if (instruction === undefined) return undefined;
      if (instruction.op === 'match') {
        if (limits.end !== undefined && at !== limits.end) return undefined;
        const result = Int32Array.from(slots);
        result[1] = at;
        return result;
      }
      if (instruction.op === 'split') {
        if (instruction.other !== instruction.next) {
          stack.push({ pc: instruction.other, at, slots });
        }
      } else if (instruction.op === 'save') {
        slots = Int32Array.from(slots);
        slots[instruction.slot] = at;
      } else if (instruction.op === 'part') {
        const found = this.#part(instruction.part, at, slots);
        if (found === undefined) return undefined;
        at = found.at;
        slots = found.slots;
      } else {
        at = this.#simple(instruction, at, slots);
        if (at < 0) return undefined;
      }
      pc = instruction.next;
    }
    return undefined;
  }

  /** Where the text goes on behind a step without choices; -1 when it fails. */
  #simple(
    instruction: Extract<Instruction, { op: 'one' | 'assert' | 'back' }>,
    at: number,
    slots: Int32Array,
  ): number {
    switch (instruction.op) {
      case 'one': {
        const point = this.#text.codePointAt(at);
        if (point === undefined || !instruction.test(point)) return -1;
        return at + (point > 0xffff ? 2 : 1);
      }
      case 'assert':
        return this.#holds(instruction.kind, at) ? at : -1;
      case 'back':
        return this.#again(instruction, at, slots);
    }
  }

  #again(instruction: Extract<Instruction, { op: 'back' }>, at: number, slots: Int32Array): number {
    const start = slots[instruction.index * 2] ?? -1;
    const end = slots[instruction.index * 2 + 1] ?? -1;
    if (start < 0 || end < 0) return -1;
    const wanted = this.#text.slice(start, end);
    const found = this.#text.slice(at, at + wanted.length);
    if (found === wanted) return at + wanted.length;
    if (!instruction.ignoreCase || found.length !== wanted.length) return -1;
    for (let i = 0; i < wanted.length; i += 1) {
      if (!sameFolded(wanted.charCodeAt(i), found.charCodeAt(i))) return -1;
    }
    return at + wanted.length;
  }

  #holds(kind: Extract<Instruction, { op: 'assert' }>['kind'], at: number): boolean {
    const text = this.#text;
    switch (kind) {
      case 'start':
        return at === 0;
      case 'end':
        return at === text.length;
      case 'end_or_last_line':
        return at === text.length || this.#isLastLineEnd(at);
      case 'line_start':
        return at === 0 || (at < text.length && this.#isBehindLineEnd(at));
      case 'line_end':
        return at === text.length || (isLineEnd(text.charCodeAt(at)) && !this.#isInsidePair(at));
      case 'word_boundary':
        return this.#isBoundary(at);
      case 'not_word_boundary':
        return !this.#isBoundary(at);
      case 'search_start':
        return at === this.#searchStart;
    }
  }

  /** Whether only one line end is left. */
  #isLastLineEnd(at: number): boolean {
    const { length } = this.#text;
    if (at === length - 2) return this.#text.startsWith('\r\n', at);
    if (at !== length - 1 || !isLineEnd(this.#text.charCodeAt(at))) return false;
    return !this.#isInsidePair(at);
  }

  #isInsidePair(at: number): boolean {
    return this.#text[at] === '\n' && this.#text[at - 1] === '\r';
  }

  #isBehindLineEnd(at: number): boolean {
    return isLineEnd(this.#text.charCodeAt(at - 1)) && !this.#isInsidePair(at);
  }

  #isBoundary(at: number): boolean {
    return this.#isWordAt(at) !== this.#isWordAt(at - 1);
  }

  #isWordAt(at: number): boolean {
    if (at < 0) return false;
    const unit = this.#text.charCodeAt(at);
    const start = (unit & 0xfc00) === 0xdc00 ? at - 1 : at;
    const point = this.#text.codePointAt(start);
    return point !== undefined && isWordOfAnyScript(point);
  }

  // ------------------------------------------------------------ parts

  #part(
    part: Part,
    at: number,
    slots: Int32Array,
  ): { readonly at: number; readonly slots: Int32Array } | undefined {
    const isKnown = !part.hasGroups && this.#whole.isMemorable;
    const known = isKnown ? this.#partEnds.get(part.id)?.get(at) : undefined;
    const found = known === undefined ? this.#runPart(part, at, slots) : undefined;
    const end = known ?? found?.[1] ?? -1;
    if (isKnown && known === undefined) this.#remember(part.id, at, end);
    if (found !== undefined) found[1] = -1;
    const after = part.hasGroups && found !== undefined ? found : slots;
    if (part.look === undefined) return end < 0 ? undefined : { at: end, slots: after };
    if (end < 0 !== part.negated) return undefined;
    return { at, slots: part.negated ? slots : after };
  }

  #remember(id: number, at: number, end: number): void {
    const ends = this.#partEnds.get(id) ?? new Map<number, number>();
    ends.set(at, end);
    this.#partEnds.set(id, ends);
  }

  #runPart(part: Part, at: number, slots: Int32Array): Int32Array | undefined {
    if (part.look !== 'behind') return this.#runAt(part, at, slots, undefined);
    for (let width = part.least; width <= part.most && width <= at; width += 1) {
      const found = this.#runAt(part, at - width, slots, at);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #runAt(
    part: Part,
    start: number,
    slots: Int32Array,
    end: number | undefined,
  ): Int32Array | undefined {
    const tried = new Set<number>();
    const states: States = {
      add: (state) => {
        this.#countStep();
        if (!this.#whole.isMemorable) return true;
        const { size } = tried;
        return tried.add(state).size > size;
      },
    };
    return this.#run(part.program, start, slots, { states, end });
  }
}

/** States as bits, for the program as a whole. */
class BitStates {
  readonly #words: Uint32Array;
  readonly #width: number;

  constructor(programLength: number, textLength: number) {
    const bits = programLength * (textLength + 1);
    if (bits > stateBitsMax) {
      throw new ExpressionError(
        'COLLECTION_SIZE_LIMIT_EXCEEDED.FUNCTION',
        'the text is too long for a regular expression of this size',
      );
    }
    this.#words = new Uint32Array((bits >>> 5) + 1);
    this.#width = programLength;
  }

  add(state: number): boolean {
    const word = state >>> 5;
    const bit = 1 << (state & 31);
    const before = this.#words[word] ?? 0;
    if ((before & bit) !== 0) return false;
    this.#words[word] = before | bit;
    return true;
  }

  /** Forgets the states at one place of the text. */
  forget(at: number): void {
    for (let state = at * this.#width; state < (at + 1) * this.#width; state += 1) {
      const word = state >>> 5;
      this.#words[word] = (this.#words[word] ?? 0) & ~(1 << (state & 31));
    }
  }
}
