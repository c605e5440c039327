/** A regular expression of Java's syntax, parsed. */
export type RegexNode =
  | { readonly node: 'empty' }
  /** One code point for which the test holds. */
  | { readonly node: 'one'; readonly test: CodePointTest }
  | { readonly node: 'sequence'; readonly items: readonly RegexNode[] }
  | { readonly node: 'choice'; readonly items: readonly RegexNode[] }
  | {
      readonly node: 'repeat';
      readonly item: RegexNode;
      readonly least: number;
      /** Infinity for no bound. */
      readonly most: number;
      readonly mode: 'greedy' | 'lazy' | 'possessive';
    }
  | { readonly node: 'group'; readonly item: RegexNode; readonly index: number }
  | { readonly node: 'atomic'; readonly item: RegexNode }
  | {
      readonly node: 'look';
      readonly item: RegexNode;
      readonly behind: boolean;
      readonly negated: boolean;
    }
  | { readonly node: 'assert'; readonly kind: AssertKind }
  | { readonly node: 'back'; readonly index: number; readonly ignoreCase: boolean };

export type CodePointTest = (codePoint: number) => boolean;

export type AssertKind =
  | 'start'
  | 'end'
  | 'end_or_last_line'
  | 'line_start'
  | 'line_end'
  | 'word_boundary'
  | 'not_word_boundary'
  | 'search_start';

export type RegexTree = {
  readonly root: RegexNode;
  /** Number of capturing groups, the whole match not counted. */
  readonly groupCount: number;
  readonly groupNames: ReadonlyMap<string, number>;
  /** It has back references, or asks for the start of the search. */
  readonly isContextual: boolean;
};

/** A pattern that is none; the message is one clause. */
export class RegexSyntaxError extends Error {
  override readonly name = 'RegexSyntaxError';
}
