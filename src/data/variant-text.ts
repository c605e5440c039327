import { formatDate, formatTimestamp } from './date-time.ts';
import { formatDecimal } from './decimal.ts';
import { formatDouble, formatFloat } from './double-text.ts';
import type { Variant, VariantNode, VariantScalar } from './value.ts';
import { isVariantArray, isVariantObject, isVariantScalar } from './variant.ts';
import { offsetMicrosAt, utc, type Zone } from './zones.ts';

/**
 * The JSON text of a semi-structured value. Invariant: numbers keep the digits that they have, and members
 * stand in the order of their names. What JSON has no form for is a string.
 */
export function variantText(value: Variant, zone: Zone = utc): string {
  return nodeText(value.variant, zone);
}

export function nodeText(node: VariantNode, zone: Zone): string {
  if (node === null) return 'null';
  switch (typeof node) {
    case 'boolean':
    case 'bigint':
      return String(node);
    case 'number':
      return Number.isFinite(node) ? formatDouble(node) : `"${node}"`;
    case 'string':
      return quoted(node);
    default:
  }
  if (isVariantScalar(node)) return scalarText(node, zone);
  if (isVariantArray(node)) return `[${node.map((part) => nodeText(part, zone)).join(',')}]`;
  if (!isVariantObject(node)) return 'null';
  const members = [...node].map(([name, part]) => `${quoted(name)}:${nodeText(part, zone)}`);
  return `{${members.join(',')}}`;
}

function scalarText({ type, value }: VariantScalar, zone: Zone): string {
  switch (type.kind) {
    case 'decimal':
      return formatDecimal(value as bigint, type.scale);
    case 'float':
      return Number.isFinite(value) ? formatFloat(value as number) : `"${value}"`;
    case 'date':
      return `"${formatDate(value as number)}"`;
    case 'timestamp':
      return `"${formatTimestamp(value as bigint, zone)}${offsetText(value as bigint, zone)}"`;
    case 'timestamp_ntz':
      return `"${formatTimestamp(value as bigint, utc)}"`;
    case 'binary':
      return `"${Buffer.from(value as Uint8Array).toString('base64')}"`;
    default:
      return quoted(String(value));
  }
}

function offsetText(micros: bigint, zone: Zone): string {
  const minutes = Number(offsetMicrosAt(zone, micros) / 60_000_000n);
  const size = Math.abs(minutes);
  const two = (n: number): string => String(n).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

function quoted(text: string): string {
  const escaped = text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
    /["\\\u0000-\u001f]/g,
    (character) =>
      escapes[character] ??
      `\\u${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`,
  );
  return `"${escaped}"`;
}
