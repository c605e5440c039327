import { nearestNames } from '../../base/nearest-name.ts';

/** A hint for a name that does not exist: the nearest ones, or else which ones there are. */
export function nameHint(
  name: string,
  candidates: readonly string[],
  noun: string,
): string | undefined {
  const names = [...new Set(candidates)];
  const nearest = nearestNames(name, names);
  if (nearest.length > 0) return `Did you mean ${listed(nearest, 'or')}?`;
  if (names.length === 0) return undefined;
  const shown = names.slice(0, 12);
  const rest = names.length - shown.length;
  return `The ${noun} are ${listed(shown, 'and')}${rest > 0 ? ` and ${rest} more` : ''}.`;
}

/** `"a"`, `"a" or "b"`, `"a", "b" or "c"`. */
export function listed(names: readonly string[], word: 'and' | 'or'): string {
  const quoted = names.map((name) => `"${name}"`);
  const last = quoted.pop();
  if (last === undefined) return '';
  return quoted.length === 0 ? last : `${quoted.join(', ')} ${word} ${last}`;
}
