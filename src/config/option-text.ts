import type { OptionDeclaration } from './options.ts';

/** What an option takes and where it stands when nobody sets it. */
export function valueText({
  kind,
  choices,
  min,
  max,
  default: standard,
}: OptionDeclaration): string {
  const values =
    kind === 'choice'
      ? (choices ?? []).join(' | ')
      : kind === 'int'
        ? `whole number from ${min ?? 0} to ${max ?? Number.MAX_SAFE_INTEGER}`
        : { string: 'text', boolean: 'true | false', list: 'list' }[kind];
  const isUnset = standard === undefined || (Array.isArray(standard) && standard.length === 0);
  return `${values}; ${isUnset ? 'not set' : `default ${String(standard)}`}`;
}
