type Schema = Readonly<Record<string, unknown>>;

const annotations = new Set(['description', 'format', 'title', 'default', 'examples', '$schema']);

/**
 * What a value does wrong by a JSON schema, as paths with reasons. Only the words that our schemas use are known;
 * any other one is a fault, so that nothing passes because it was not understood.
 */
export function schemaFaults(
  schema: Schema,
  value: unknown,
  root: Schema = schema,
  path = '$',
): string[] {
  const faults: string[] = [];
  const at = (reason: string): void => void faults.push(`${path}: ${reason}`);
  for (const [word, rule] of Object.entries(schema)) {
    switch (word) {
      case '$ref':
        faults.push(...schemaFaults(resolve(root, String(rule)), value, root, path));
        break;
      case 'type':
        if (![rule].flat().some((type) => isOfType(String(type), value)))
          at(`is no ${String(rule)}`);
        break;
      case 'enum':
        if (!(rule as unknown[]).includes(value)) at(`is none of ${JSON.stringify(rule)}`);
        break;
      case 'const':
        if (rule !== value) at(`is not ${JSON.stringify(rule)}`);
        break;
      case 'pattern':
        if (typeof value === 'string' && !new RegExp(String(rule), 'u').test(value)) {
          at(`does not match ${String(rule)}`);
        }
        break;
      case 'minLength':
        if (typeof value === 'string' && value.length < Number(rule)) at(`is shorter than ${rule}`);
        break;
      case 'minimum':
        if (typeof value === 'number' && value < Number(rule)) at(`is below ${rule}`);
        break;
      case 'maximum':
        if (typeof value === 'number' && value > Number(rule)) at(`is above ${rule}`);
        break;
      case 'minItems':
        if (Array.isArray(value) && value.length < Number(rule)) at(`has fewer than ${rule} items`);
        break;
      case 'uniqueItems':
        if (
          Array.isArray(value) &&
          new Set(value.map((one) => JSON.stringify(one))).size < value.length
        ) {
          at('has an item twice');
        }
        break;
      case 'propertyNames':
        if (isObject(value)) {
          for (const name of Object.keys(value))
            faults.push(...schemaFaults(rule as Schema, name, root, `${path}.${name}`));
        }
        break;
      case 'minProperties':
        if (isObject(value) && Object.keys(value).length < Number(rule)) at('has too few members');
        break;
      case 'items':
        if (Array.isArray(value)) {
          for (const [index, one] of value.entries()) {
            faults.push(...schemaFaults(rule as Schema, one, root, `${path}[${index}]`));
          }
        }
        break;
      case 'required':
        if (isObject(value)) {
          for (const name of rule as string[]) if (!(name in value)) at(`lacks "${name}"`);
        }
        break;
      case 'properties':
        if (isObject(value)) {
          for (const [name, one] of Object.entries(rule as Record<string, Schema>)) {
            if (name in value)
              faults.push(...schemaFaults(one, value[name], root, `${path}.${name}`));
          }
        }
        break;
      case 'additionalProperties':
        if (isObject(value)) {
          const known = Object.keys((schema['properties'] ?? {}) as object);
          for (const [name, one] of Object.entries(value)) {
            if (known.includes(name)) continue;
            if (rule === false) at(`has "${name}", which is unknown`);
            else if (isObject(rule))
              faults.push(...schemaFaults(rule, one, root, `${path}.${name}`));
          }
        }
        break;
      case 'oneOf':
      case 'anyOf': {
        const fitting = (rule as Schema[]).filter(
          (one) => schemaFaults(one, value, root, path).length === 0,
        );
        if (fitting.length === 0 || (word === 'oneOf' && fitting.length > 1)) {
          at(`fits ${fitting.length} of ${word}`);
        }
        break;
      }
      case 'definitions':
      case '$defs':
        break;
      default:
        if (!annotations.has(word)) at(`schema word "${word}" is not known here`);
    }
  }
  return faults;
}

function resolve(root: Schema, ref: string): Schema {
  let node: unknown = root;
  for (const part of ref.replace(/^#\//, '').split('/')) {
    node = isObject(node) ? node[part] : undefined;
  }
  if (!isObject(node)) throw new Error(`${ref} leads nowhere`);
  return node;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case 'object':
      return isObject(value);
    case 'array':
      return Array.isArray(value);
    case 'integer':
      return Number.isInteger(value);
    case 'null':
      return value === null;
    default:
      return typeof value === type;
  }
}
