/**
 * The parser library, from the one file that its package has beside the several hundred of its entry point: to find and
 * load those took a third of the time that the program needs to start. Invariant: it is the only place that loads it, since
 * two copies would not know each other's tokens; all else takes types from the package.
 */
const packed = new URL('../chevrotain.mjs', import.meta.resolve('chevrotain')).href;

export const { createToken, EmbeddedActionsParser, EOF, Lexer, tokenLabel, tokenMatcher } =
  (await import(packed)) as typeof import('chevrotain');
