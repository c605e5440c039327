import type { FlowError } from '../base/errors.ts';
import type { ExitCode } from './command.ts';

/** An error as people read it. */
export function errorText({ code, message, detail, hint }: FlowError): string {
  const lines = [`error ${code}: ${message}`];
  if (detail !== undefined) lines.push(...detail.split('\n').map((line) => `  ${line}`));
  if (hint !== undefined) lines.push(`hint: ${hint}`);
  return `${lines.join('\n')}\n`;
}

/** The same as machines read it, in one line. */
export function errorJson({ code, message, detail, hint, place }: FlowError): unknown {
  return { code, message, detail, hint, place };
}

/** What a command ends with that an error has ended. */
export function exitCodeOf({ code }: FlowError): ExitCode {
  switch (code) {
    case 'USAGE':
    case 'CONFIG_INVALID':
      return 2;
    case 'SQL_SYNTAX':
    case 'PIPELINE_INVALID':
      return 3;
    case 'DATA_LOSS_REFUSED':
      return 4;
    default:
      return 1;
  }
}
