import type { Place } from '../base/place.ts';

const nowhere: Place = { file: 'pipeline', start: 0, end: 0, line: 1, column: 1 };

/** Any frame of this folder, whether it runs from its source or compiled. */
const ownFolder = new URL('.', import.meta.url).href;

/**
 * Where the code outside this folder stands that called into it: what a fault points at. Invariant: it never fails;
 * where the engine tells nothing, the place is the pipeline as a whole.
 */
export function callPlace(): Place {
  const frames = (new Error('place').stack ?? '').split('\n').slice(1);
  for (const frame of frames) {
    const found = /(?:\(|at (?:async )?)([^()\s][^()]*?):(\d+):(\d+)\)?$/u.exec(frame);
    const file = found?.[1];
    if (found === null || file === undefined || isOwn(file)) continue;
    return {
      ...nowhere,
      file: pathOf(file),
      line: Number(found[2]),
      column: Number(found[3]),
    };
  }
  return nowhere;
}

function isOwn(file: string): boolean {
  const url = file.startsWith('file:') ? file : `file://${file}`;
  return url.startsWith(ownFolder);
}

function pathOf(file: string): string {
  return file.startsWith('file:') ? decodeURIComponent(new URL(file).pathname) : file;
}
