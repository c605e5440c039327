import {
  type AssertKind,
  type CodePointTest,
  type RegexNode,
  RegexSyntaxError,
  type RegexTree,
} from './regex-tree.ts';

/** One step of the matching machine; `next` and the like are positions of instructions. */
export type Instruction =
  | { readonly op: 'one'; readonly test: CodePointTest; next: number }
  /** Tries `next` first, `other` when that fails. */
  | { readonly op: 'split'; next: number; other: number }
  | { readonly op: 'save'; readonly slot: number; next: number }
  | { readonly op: 'assert'; readonly kind: AssertKind; next: number }
  | { readonly op: 'back'; readonly index: number; readonly ignoreCase: boolean; next: number }
  /** A part that is matched by itself: a look around, or an atomic group when `look` is undefined. */
  | { readonly op: 'part'; readonly part: Part; next: number }
  | { readonly op: 'match' };

export type Part = {
  readonly id: number;
  readonly program: readonly Instruction[];
  readonly look: 'ahead' | 'behind' | undefined;
  readonly negated: boolean;
  /** Lengths in UTF-16 units that a look behind may have. */
  readonly least: number;
  readonly most: number;
  readonly hasGroups: boolean;
};

export type RegexProgram = {
  readonly program: readonly Instruction[];
  readonly groupCount: number;
  readonly groupNames: ReadonlyMap<string, number>;
  /** Whether a state that failed once fails always: not where it depends on a group or on the start. */
  readonly isMemorable: boolean;
};

/** Repetitions are written out, so the size of a program bounds the work for each character. */
const instructionsMax = 20_000;
const behindMax = 255;

export function compileRegex(tree: RegexTree): RegexProgram {
  const counter = { parts: 0, instructions: 0 };
  return {
    program: new Writer(counter).whole(tree.root),
    groupCount: tree.groupCount,
    groupNames: tree.groupNames,
    isMemorable: !tree.isContextual,
  };
}

class Writer {
  readonly #program: Instruction[] = [];
  readonly #counter: { parts: number; instructions: number };

  constructor(counter: { parts: number; instructions: number }) {
    this.#counter = counter;
  }

  whole(root: RegexNode): readonly Instruction[] {
    this.#write(root);
    this.#add({ op: 'match' });
    return this.#program;
  }

  #add(instruction: Instruction): number {
    this.#counter.instructions += 1;
    if (this.#counter.instructions > instructionsMax) {
      throw new RegexSyntaxError('its repetitions make it too large');
    }
    this.#program.push(instruction);
    return this.#program.length - 1;
  }

  get #end(): number {
    return this.#program.length;
  }

  #write(node: RegexNode): void {
    switch (node.node) {
      case 'empty':
        return;
      case 'one':
        this.#add({ op: 'one', test: node.test, next: this.#end + 1 });
        return;
      case 'sequence':
        for (const item of node.items) this.#write(item);
        return;
      case 'choice':
        this.#choice(node.items);
        return;
      case 'repeat':
        this.#repeat(node);
        return;
      case 'group':
        this.#add({ op: 'save', slot: node.index * 2, next: this.#end + 1 });
        this.#write(node.item);
        this.#add({ op: 'save', slot: node.index * 2 + 1, next: this.#end + 1 });
        return;
      case 'assert':
        this.#add({ op: 'assert', kind: node.kind, next: this.#end + 1 });
        return;
      case 'back':
        this.#add({
          op: 'back',
          index: node.index,
          ignoreCase: node.ignoreCase,
          next: this.#end + 1,
        });
        return;
      case 'atomic':
        this.#part(node.item, undefined, false);
        return;
      case 'look':
        this.#part(node.item, node.behind ? 'behind' : 'ahead', node.negated);
        return;
    }
  }

  #choice(items: readonly RegexNode[]): void {
    const jumps: number[] = [];
    items.forEach((item, i) => {
      if (i === items.length - 1) {
        this.#write(item);
        return;
      }
      const split = this.#split(this.#end + 1);
      this.#write(item);
      jumps.push(this.#jump());
      this.#setOther(split, this.#end);
    });
    for (const jump of jumps) this.#setNext(jump, this.#end);
  }

  #split(next: number): number {
    return this.#add({ op: 'split', next, other: next });
  }

  /** A split whose both ways are one. */
  #jump(): number {
    return this.#add({ op: 'split', next: 0, other: 0 });
  }

  #setOther(at: number, other: number): void {
    const instruction = this.#program[at];
    if (instruction?.op === 'split') instruction.other = other;
  }

  #setNext(at: number, next: number): void {
    const instruction = this.#program[at];
    if (instruction?.op === 'split') {
      instruction.next = next;
      instruction.other = next;
    }
  }

  #repeat(node: Extract<RegexNode, { node: 'repeat' }>): void {
    if (node.mode === 'possessive') {
      this.#part({ ...node, mode: 'greedy' }, undefined, false);
      return;
    }
    for (let i = 0; i < node.least; i += 1) this.#write(node.item);
    if (node.most === Infinity) {
      this.#loop(node.item, node.mode === 'lazy');
      return;
    }
    const splits: number[] = [];
    for (let i = node.least; i < node.most; i += 1) {
      splits.push(this.#split(this.#end + 1));
      this.#write(node.item);
    }
    for (const split of splits) this.#leave(split, this.#end, node.mode === 'lazy');
  }

  #loop(item: RegexNode, isLazy: boolean): void {
    const start = this.#split(this.#end + 1);
    this.#write(item);
    this.#setNext(this.#jump(), start);
    this.#leave(start, this.#end, isLazy);
  }

  /** Lets a split go on to `exit`: as its second choice, or as its first when lazy. */
  #leave(at: number, exit: number, isLazy: boolean): void {
    const instruction = this.#program[at];
    if (instruction?.op !== 'split') return;
    if (isLazy) {
      instruction.other = instruction.next;
      instruction.next = exit;
    } else {
      instruction.other = exit;
    }
  }

  #part(item: RegexNode, look: Part['look'], negated: boolean): void {
    const id = this.#counter.parts;
    this.#counter.parts += 1;
    const program = new Writer(this.#counter).whole(item);
    const [least, most] = look === 'behind' ? widthOf(item) : [0, 0];
    if (look === 'behind' && most > behindMax) {
      throw new RegexSyntaxError(`a look behind goes back ${behindMax} characters at most`);
    }
    const hasGroups = program.some((instruction) => instruction.op === 'save');
    const part: Part = { id, program, look, negated, least, most, hasGroups };
    this.#add({ op: 'part', part, next: this.#end + 1 });
  }
}

/** Least and greatest length of a match in UTF-16 units. */
function widthOf(node: RegexNode): readonly [number, number] {
  switch (node.node) {
    case 'one':
      return [1, 2];
    case 'sequence':
      return node.items.map(widthOf).reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0]);
    case 'choice': {
      const widths = node.items.map(widthOf);
      return [Math.min(...widths.map(([a]) => a)), Math.max(...widths.map(([, b]) => b))];
    }
    case 'repeat': {
      const [least, most] = widthOf(node.item);
      return [least * node.least, most === 0 ? 0 : most * node.most];
    }
    case 'group':
    case 'atomic':
      return widthOf(node.item);
    case 'back':
      return [0, Infinity];
    default:
      return [0, 0];
  }
}
