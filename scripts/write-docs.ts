import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type ErrorCode, FlowError, type Remedy } from '../src/base/errors.ts';
import { valueText } from '../src/config/option-text.ts';
import { environmentName, flagName, optionDeclarations } from '../src/config/options.ts';
import { functionNames } from '../src/expr/function-registry.ts';
import { planFaults } from '../src/plan/faults.ts';
import { errorMeanings } from './error-meanings.ts';
import { metricTables } from './metric-tables.ts';

/**
 * The parts of the documents that are made from the code. In a document each stands between two comments,
 * `<!-- made: NAME -->` and `<!-- end -->`; everything else there is written by hand.
 */
const parts: Readonly<Record<string, () => string>> = {
  'config-table': configTable,
  'error-codes': errorCodes,
  'plan-faults': planFaultTable,
  functions: functionList,
  metrics: metricTables,
};

export const documents: readonly string[] = [
  'docs/operations.md',
  'docs/errors.md',
  'docs/sql.md',
  'docs/metrics.md',
];

const root = resolve(import.meta.dirname, '..');

/** A document with its made parts as they are now. Throws where it names a part that there is not. */
export function renderDocument(text: string): string {
  return text.replace(
    /(<!-- made: (\S+) -->\n)[\s\S]*?(<!-- end -->)/g,
    (_, begin: string, name: string, end: string) => {
      const part = parts[name];
      if (part === undefined) throw new Error(`there is no part "${name}"`);
      return `${begin}${part()}${end}`;
    },
  );
}

function configTable(): string {
  const rows = optionDeclarations.map((option) => {
    const { name, doc, secret } = option;
    const flag = secret === true ? '–' : `\`${flagName(name)}\``;
    return `| \`${name}\` | ${cell(valueText(option))} | ${cell(doc)} | \`${environmentName(name)}\` | ${flag} |`;
  });
  return table(['option', 'value; default', 'what it does', 'environment', 'flag'], rows);
}

const remedyTexts: Readonly<Record<Remedy, string>> = {
  'fix-input': 'ends: a person has to change something',
  retry: 'waits and tries again',
  rejoin: 'drops the open transaction, joins the group again and goes on from the checkpoint',
  'rebuild-state': 'drops the open transaction and rebuilds the state from the output topic',
  stop: 'the flow stops, nothing is skipped: a person has to decide',
};

function errorCodes(): string {
  const rows = Object.entries(errorMeanings).map(([code, meaning]) => {
    const { remedy } = new FlowError(code as ErrorCode, '');
    return `| \`${code}\` | ${cell(meaning)} | ${remedyTexts[remedy]} |`;
  });
  return table(['code', 'meaning', 'what the service does'], rows);
}

function planFaultTable(): string {
  const rows = Object.entries(planFaults).map(([code, text]) => `| \`${code}\` | ${cell(text)} |`);
  return table(['code', 'meaning'], rows);
}

function functionList(): string {
  const names = [...functionNames()].filter((name) => /^[a-z_0-9]+$/.test(name)).sort();
  return `${names.map((name) => `\`${name}\``).join(' ')}\n`;
}

function table(headers: readonly string[], rows: readonly string[]): string {
  const head = `| ${headers.join(' | ')} |`;
  return `${[head, head.replace(/[^|]+/g, ' --- '), ...rows].join('\n')}\n`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const document of documents) {
    const path = resolve(root, document);
    const text = readFileSync(path, 'utf8');
    const rendered = renderDocument(text);
    if (rendered !== text) writeFileSync(path, rendered);
    process.stdout.write(`${document}: ${rendered === text ? 'current' : 'written'}\n`);
  }
}
