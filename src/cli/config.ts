import { shownConfig } from '../config/load-config.ts';
import { environmentName, flagName, optionDeclarations } from '../config/options.ts';
import type { Command } from './command.ts';

export const config: Command = {
  name: 'config',
  summary: 'show every option with its effective value, secrets masked',
  arguments: '',
  example: 'tidemark config --json',
  flags: {},
  usesConfig: true,
  isUnattended: true,
  listsConfig: true,
  run: (invocation) => {
    const values = shownConfig(invocation.config());
    if (invocation.json) {
      invocation.printJson(values);
    } else {
      for (const { name, doc, secret } of optionDeclarations) {
        const { out } = invocation.terminal;
        out(`${name} = ${JSON.stringify(values[name])}\n`);
        out(
          `    ${doc}\n    ${environmentName(name)}${secret === true ? '' : `, ${flagName(name)}`}\n`,
        );
      }
    }
    return Promise.resolve(0);
  },
};
