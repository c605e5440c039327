/** Of longer ones each is there once. */
const textLengthMax = 4096;
const textsMax = 256;

type Parsed = Readonly<Record<string, unknown>>;

/**
 * JSON objects by their texts: whoever opens a catalog anew, as each start and each command does, reads mostly what was read
 * before. Two generations bound them: when the young one is full it becomes the old one. Invariant: what is given out is
 * shared, and never changed.
 */
export class ParsedTexts {
  #young = new Map<string, Parsed>();
  #old = new Map<string, Parsed>();

  /** Throws where the text is no JSON. */
  parse(text: string): Parsed {
    const known = this.#young.get(text);
    if (known !== undefined) return known;
    const parsed = this.#old.get(text) ?? (JSON.parse(text) as Parsed);
    if (text.length > textLengthMax) return parsed;
    if (this.#young.size === textsMax) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(text, parsed);
    return parsed;
  }
}
