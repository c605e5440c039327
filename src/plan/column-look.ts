import { decimalPrecisionMax } from '../data/decimal.ts';
import { isNumber, type JsonNode } from '../expr/json/json-tree.ts';

const precisionOffered = 18;
const plainNumber = /^[+-]?(\d+)(?:\.(\d+))?$/u;

/** What the texts of a column may all look like, the narrowest first. */
const textForms = [
  ['BIGINT', /^[+-]?\d{1,18}$/u],
  ['DECIMAL', plainNumber],
  ['DATE', /^\d{4}-\d{2}-\d{2}$/u],
  [
    'TIMESTAMP',
    /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/u,
  ],
] as const;

/**
 * What the values of one member have in common beyond their type, so that a guess is told as one. Invariant: it counts, and
 * decides nothing: what it says is a note for the reader, who knows what the numbers and texts mean.
 */
export class ColumnLook {
  #values = 0;
  readonly #kinds = new Set<string>();
  readonly #forms = new Set<string>(textForms.map(([name]) => name));
  #whole = 0;
  #fraction = 0;
  /** Not every number stands as digits alone. */
  #isOdd = false;
  #blurred: string | undefined;

  add(node: JsonNode): void {
    if (node === null) return;
    this.#values += 1;
    this.#kinds.add(kindOf(node));
    const text = typeof node === 'string' ? node : isNumber(node) ? node.text : undefined;
    if (text === undefined) return;
    this.#measure(text);
    if (typeof node !== 'string') {
      if (!isExact(text)) this.#blurred ??= text;
      return;
    }
    for (const [name, form] of textForms) if (!form.test(text)) this.#forms.delete(name);
  }

  /** The note on a column of that name and type, if there is something to say. */
  note(name: string, type: string): string | undefined {
    const column = `column "${name}"`;
    if (this.#values === 0) return `${column} is null in all of these records: its type is a guess`;
    if (this.#kinds.size > 1) {
      return `${column} holds ${[...this.#kinds].sort().join(' and ')}: ${type} takes them all`;
    }
    if (type === 'ARRAY<STRING>' && this.#kinds.has('empty lists')) {
      return `${column} is an empty list in all of these records: the type of its elements is a guess`;
    }
    if (type === 'DOUBLE') return `${column} ${this.#numberNote()}`;
    if (type !== 'STRING') return undefined;
    const form = textForms.find(([one]) => this.#forms.has(one))?.[0];
    if (form === undefined) return undefined;
    const better = form === 'DECIMAL' ? (this.#decimal() ?? form) : form;
    return `column "${name}" looks like ${better}: declare it so where its texts mean that`;
  }

  #measure(text: string): void {
    const [, whole, fraction = ''] = plainNumber.exec(text) ?? [];
    if (whole === undefined) {
      this.#isOdd = true;
      return;
    }
    this.#whole = Math.max(this.#whole, whole.replace(/^0+/u, '').length);
    this.#fraction = Math.max(this.#fraction, fraction.length);
  }

  /** undefined: its digits do not fit. */
  #decimal(): string | undefined {
    const digits = this.#whole + this.#fraction;
    if (this.#isOdd || digits > decimalPrecisionMax) return undefined;
    return `DECIMAL(${Math.max(digits, precisionOffered)},${this.#fraction})`;
  }

  #numberNote(): string {
    const better = this.#decimal();
    const loss =
      this.#blurred === undefined
        ? 'is a DOUBLE, which is not exact'
        : `is a DOUBLE, which loses digits of ${this.#blurred}`;
    return better === undefined
      ? `${loss}; declare it STRING where every digit counts`
      : `${loss}: where its numbers are amounts, declare ${better}, which keeps every digit`;
  }
}

function kindOf(node: Exclude<JsonNode, null>): string {
  if (typeof node === 'string') return 'texts';
  if (typeof node === 'boolean') return 'booleans';
  if (isNumber(node)) return 'numbers';
  if (!Array.isArray(node)) return 'objects';
  return node.length === 0 ? 'empty lists' : 'lists';
}

/** Whether a DOUBLE has the digits of the number, as far as 15 of them say. */
function isExact(text: string): boolean {
  const digits = text.replace(/e.*$/iu, '').replace(/\D/gu, '').replace(/^0+/u, '');
  return digits.replace(/0+$/u, '').length <= 15 || String(Number(text)) === text;
}
