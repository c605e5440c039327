import type { DataType } from '../data/types.ts';
import type { Operation } from './expression.ts';
export type CastMode = 'ansi' | 'try' | 'store';
export declare function castOperation(from: DataType, to: DataType, mode: CastMode): Operation;
