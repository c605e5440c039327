// schemas.mjs SWAGGER FOLDER [CRD.yaml…]: a JSON schema for each kind of Kubernetes, as kubeconform looks for it, from the description of the
// API that lies in the module k8s.io/kubernetes (api/openapi-spec/swagger.json), and for each kind that an operator defines. Strict: a name
// that a kind does not have is refused.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const [swagger, folder, ...definitionFiles] = process.argv.slice(2);
const { definitions } = JSON.parse(readFileSync(swagger, 'utf8'));
const prefix = '#/definitions/';
mkdirSync(folder, { recursive: true });

// Kubernetes writes a quantity or a port as a number or as a text, and tells it by a format.
function strict(node) {
  if (Array.isArray(node)) return node.map(strict);
  if (typeof node !== 'object' || node === null) return node;
  if (node.format === 'int-or-string' || node['x-kubernetes-int-or-string'] === true)
    return { oneOf: [{ type: 'string' }, { type: 'integer' }] };
  const made = Object.fromEntries(
    Object.entries(node).map(([name, value]) => [name, strict(value)]),
  );
  const isOpen = node['x-kubernetes-preserve-unknown-fields'] === true;
  if (made.properties !== undefined && made.additionalProperties === undefined && !isOpen)
    made.additionalProperties = false;
  return made;
}

function* named(node) {
  if (typeof node !== 'object' || node === null) return;
  if (typeof node.$ref === 'string') yield node.$ref.slice(prefix.length);
  for (const value of Object.values(node)) yield* named(value);
}

function closure(name) {
  const found = new Map();
  const open = [name];
  while (open.length > 0) {
    const next = open.pop();
    if (found.has(next)) continue;
    found.set(next, strict(definitions[next]));
    open.push(...named(definitions[next]));
  }
  return found;
}

let written = 0;
for (const [name, definition] of Object.entries(definitions)) {
  for (const { group, kind, version } of definition['x-kubernetes-group-version-kind'] ?? []) {
    const file = [kind, group.split('.')[0], version].filter((part) => part !== '').join('-');
    const parts = Object.fromEntries(closure(name));
    const quantity = parts['io.k8s.apimachinery.pkg.api.resource.Quantity'];
    if (quantity !== undefined) quantity.type = ['string', 'number'];
    writeFileSync(
      join(folder, `${file.toLowerCase()}.json`),
      JSON.stringify({ $ref: `${prefix}${name}`, definitions: parts }),
    );
    written += 1;
  }
}
for (const file of definitionFiles) {
  const { spec } = parse(readFileSync(file, 'utf8'));
  for (const { name: version, schema } of spec.versions) {
    const made = strict(schema.openAPIV3Schema);
    // What every object has is no affair of the operator.
    made.properties.metadata = { type: 'object' };
    const name = [spec.names.kind, spec.group.split('.')[0], version].join('-').toLowerCase();
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(made));
    written += 1;
  }
}
console.log(`${written} schemas in ${folder}`);
