/**
 * A second, independent account of Kafka's wire form for the tests: it writes and reads any message whose
 * fields are given as text, such as
 *   'throttleTimeMs int32, protocolType string? @7+, members [memberId string, metadata bytes]'
 * where `?` means nullable, `[]` after a type an array of it, and `@7+`, `@8` or `@0-7` the versions.
 * Structures in brackets end in a tag section in flexible versions, as does the message.
 */
export type Wire = { readonly [name: string]: unknown };

type Field = {
  readonly name: string;
  readonly type: string;
  readonly fields: readonly Field[] | undefined;
  readonly array: boolean;
  readonly nullable: boolean;
  readonly from: number;
  readonly to: number;
};

export function parseSchema(text: string): readonly Field[] {
  const tokens = text.match(/[A-Za-z0-9]+|@\S+?(?=[,\]\s]|$)|\[\]|[[\],?]/g) ?? [];
  let next = 0;
  const list = (): Field[] => {
    const fields: Field[] = [];
    while (next < tokens.length && tokens[next] !== ']') {
      fields.push(field());
      if (tokens[next] === ',') next += 1;
    }
    return fields;
  };
  const take = (token: string): boolean => {
    if (tokens[next] !== token) return false;
    next += 1;
    return true;
  };
  const field = (): Field => {
    const name = tokens[next++] ?? '';
    let type = 'struct';
    let fields: Field[] | undefined;
    let array = false;
    if (take('[')) {
      fields = list();
      take(']');
      array = true;
    } else {
      type = tokens[next++] ?? '';
      array = take('[]');
    }
    const nullable = take('?');
    const versions = /^@(\d+)(\+|-(\d+))?$/.exec(tokens[next] ?? '');
    if (versions !== null) next += 1;
    const from = Number(versions?.[1] ?? 0);
    const to =
      versions === null || versions[2] === '+'
        ? Number.POSITIVE_INFINITY
        : Number(versions[3] ?? from);
    return { name, type, fields, array, nullable, from, to };
  };
  return list();
}

export function writeMessage(
  schema: readonly Field[],
  wire: Wire,
  version: number,
  flexible: boolean,
): Buffer {
  const parts: Buffer[] = [];
  const int = (size: number, value: number | bigint): void => {
    const part = Buffer.alloc(8);
    part.writeBigInt64BE(BigInt(value));
    parts.push(part.subarray(8 - size));
  };
  const varint = (value: number): void => {
    const bytes: number[] = [];
    let rest = value;
    for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
    parts.push(Buffer.from([...bytes, rest]));
  };
  const length = (value: number, size: number): void => {
    if (flexible) varint(value + 1);
    else int(size, value);
  };
  const one = (field: Field, value: unknown): void => {
    switch (field.type) {
      case 'struct':
        struct(field.fields ?? [], value as Wire);
        break;
      case 'bool':
        int(1, value === true ? 1 : 0);
        break;
      case 'string':
        if (value === null) {
          length(-1, 2);
        } else {
          length(Buffer.byteLength(value as string), 2);
          parts.push(Buffer.from(value as string));
        }
        break;
      case 'bytes':
        if (value === null) {
          length(-1, 4);
        } else {
          length((value as Buffer).length, 4);
          parts.push(value as Buffer);
        }
        break;
      case 'uuid':
        parts.push(Buffer.from(value as string, 'base64url'));
        break;
      default:
        int(Number(field.type.slice(3)) / 8, value as number | bigint);
    }
  };
  const struct = (fields: readonly Field[], value: Wire): void => {
    for (const field of fields) {
      if (version < field.from || version > field.to) continue;
      const item = value[field.name];
      if (item === undefined) throw new Error(`${field.name} has no value`);
      if (!field.array) {
        one(field, item);
      } else if (item === null) {
        length(-1, 4);
      } else {
        const items = item as readonly unknown[];
        length(items.length, 4);
        for (const element of items) one(field, element);
      }
    }
    if (flexible) varint(0);
  };
  struct(schema, wire);
  return Buffer.concat(parts);
}

/** Reads a whole message; bytes that are left over, or an unknown tag, are errors. */
export function readMessage(
  schema: readonly Field[],
  bytes: Buffer,
  version: number,
  flexible: boolean,
): Wire {
  let at = 0;
  const int = (size: number): number => {
    at += size;
    if (size === 8) return Number(bytes.readBigInt64BE(at - 8));
    return bytes.readIntBE(at - size, size);
  };
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes.readUInt8(at++);
      value += (byte % 128) * scale;
      if (byte < 128) return value;
    }
  };
  const length = (size: number): number => (flexible ? varint() - 1 : int(size));
  const span = (size: number): Buffer => {
    if (at + size > bytes.length) throw new Error('cut short');
    at += size;
    return bytes.subarray(at - size, at);
  };
  const one = (field: Field): unknown => {
    switch (field.type) {
      case 'struct':
        return struct(field.fields ?? []);
      case 'bool':
        return int(1) === 1;
      case 'string': {
        const size = length(2);
        return size < 0 ? null : span(size).toString();
      }
      case 'bytes': {
        const size = length(4);
        return size < 0 ? null : Buffer.from(span(size));
      }
      case 'uuid':
        return span(16).toString('base64url');
      default:
        return int(Number(field.type.slice(3)) / 8);
    }
  };
  const struct = (fields: readonly Field[]): Wire => {
    const value: Record<string, unknown> = {};
    for (const field of fields) {
      if (version < field.from || version > field.to) continue;
      const count = field.array ? length(4) : 1;
      const items = count < 0 ? null : Array.from({ length: count }, () => one(field));
      value[field.name] = field.array ? items : items?.[0];
    }
    if (flexible && varint() !== 0) throw new Error('unknown tag');
    return value;
  };
  const wire = struct(schema);
  if (at !== bytes.length) throw new Error(`${bytes.length - at} bytes are left over`);
  return wire;
}

/** Leaves out the fields that a version does not have. */
export function ofVersion(schema: readonly Field[], wire: Wire, version: number): Wire {
  const value: Record<string, unknown> = {};
  for (const field of schema) {
    if (version < field.from || version > field.to) continue;
    const item = wire[field.name];
    value[field.name] =
      field.fields !== undefined && Array.isArray(item)
        ? item.map((element) => ofVersion(field.fields ?? [], element as Wire, version))
        : item;
  }
  return value;
}
