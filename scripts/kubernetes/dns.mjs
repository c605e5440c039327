// Names of services and of their pods for a one-node cluster: dns.mjs KUBECONFIG ADDRESS. Answers A of SERVICE.NAMESPACE.svc.cluster.local
// and POD.SERVICE.NAMESPACE.svc.cluster.local from the API server; there is nothing else.
import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { get } from 'node:https';

const [kubeconfig, address] = process.argv.slice(2);
const config = readFileSync(kubeconfig, 'utf8');
const setting = (name) => config.match(new RegExp(`${name}: "([^"]+)"`))[1];
const server = new URL(setting('server'));
const token = setting('token');
const ca = readFileSync(setting('certificate-authority'));

function ask(path) {
  const options = { host: server.hostname, port: server.port, path, ca, servername: 'kubernetes' };
  return new Promise((resolve) => {
    get({ ...options, headers: { authorization: `Bearer ${token}` } }, (response) => {
      const parts = [];
      response.on('data', (part) => parts.push(part));
      response.on('end', () => {
        resolve(response.statusCode === 200 ? JSON.parse(Buffer.concat(parts)) : undefined);
      });
    }).on('error', () => resolve(undefined));
  });
}

async function addressesOf(name) {
  const parts = name.split('.');
  if (parts.slice(-3).join('.') !== 'svc.cluster.local') return undefined;
  const [namespace, service, pod] = parts.slice(0, -3).reverse();
  const found = await ask(`/api/v1/namespaces/${namespace}/services/${service}`);
  if (found === undefined) return undefined;
  if (pod === undefined && found.spec.clusterIP !== 'None') return [found.spec.clusterIP];
  const label = `labelSelector=kubernetes.io/service-name%3D${service}`;
  const slices = await ask(
    `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices?${label}`,
  );
  const isMeant = ({ hostname, conditions }) =>
    pod === undefined ? found.spec.publishNotReadyAddresses || conditions?.ready : hostname === pod;
  const endpoints = (slices?.items ?? []).flatMap((slice) => slice.endpoints ?? []).filter(isMeant);
  return endpoints.flatMap((endpoint) => endpoint.addresses);
}

const headerLength = 12;
const typeA = 1;

function questionOf(query) {
  const labels = [];
  let at = headerLength;
  while (query[at] > 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]));
    at += 1 + query[at];
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function answer(query, { type, end }, addresses) {
  const given = type === typeA ? (addresses ?? []) : [];
  const header = Buffer.alloc(headerLength);
  query.copy(header, 0, 0, 2);
  // An authoritative answer; 3: there is no such name.
  header.writeUInt16BE(0x8580 | (addresses === undefined ? 3 : 0), 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(given.length, 6);
  // The name is that of the question; class IN, five seconds.
  const record = (ip) =>
    Buffer.from([0xc0, headerLength, 0, 1, 0, 1, 0, 0, 0, 5, 0, 4, ...ip.split('.').map(Number)]);
  return Buffer.concat([header, query.subarray(headerLength, end), ...given.map(record)]);
}

const socket = createSocket('udp4');
socket.on('message', async (query, from) => {
  const question = questionOf(query);
  socket.send(answer(query, question, await addressesOf(question.name)), from.port, from.address);
});
socket.bind(53, address);
