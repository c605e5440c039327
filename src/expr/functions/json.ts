import type { FunctionDefinition } from '../function.ts';
export const jsonFunctions: readonly FunctionDefinition[] = [];
