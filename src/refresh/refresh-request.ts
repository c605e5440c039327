import { type ErrorCode, FlowError } from '../base/errors.ts';
import { moveTo, type OtherForm } from './alternatives.ts';
import type { FlowChange } from './flow-change.ts';
import type { LossCounts } from './loss.ts';
import { isUnreadable, type TrialReport } from './trial.ts';
import { type UntoldLoss, untoldText } from './untold-loss.ts';

export type RefreshMode = 'beside' | 'in_place';

export type RefreshRequest = {
  readonly table: string;
  readonly mode: RefreshMode;
  readonly allowLoss: boolean;
  readonly keepUnrecoverable: boolean;
  /** It is measured, and never becomes the table. */
  readonly isShadow?: boolean | undefined;
};

/** What decides whether a refresh may start, or go on to its swap. */
export type RequestFacts = {
  readonly lost: LossCounts;
  /** Rows between the stages that can't be read again. */
  readonly pendingLost: number;
  /** Why there may be more that would be lost, which nobody can count. */
  readonly untold?: UntoldLoss | undefined;
  /** Whether they are the rows of a join of two streams. */
  readonly isJoined: boolean;
  /** Whether a LIMIT has let them through. */
  readonly isLimited: boolean;
  /** Tables refreshed with this one whose rows append flows write into it; none where it merges what it reads. */
  readonly appendedFrom: readonly string[];
  /** Tables that read this one, and are not refreshed with it. */
  readonly downstream: readonly string[];
  /** Against the definition that the table was written with. */
  readonly changes: readonly FlowChange[];
  /** How the records of the table's topic would differ from those that are there, so that it can't take them; undefined: it can. */
  readonly otherForm: OtherForm | undefined;
  /** How the records that are there fare with the present definition; absent: they were not tried. */
  readonly trial?: TrialReport | null;
};

export type RefreshDecision =
  | { readonly decision: 'go' }
  | {
      readonly decision: 'refuse';
      readonly code: ErrorCode;
      readonly message: string;
      readonly detail?: string;
      readonly hint: string;
    };

/** Rows of another key, order or form can't be inputs of the merge. */
const unmergeable = ['FR-11', 'FR-12', 'FR-13', 'FR-14', 'FR-15', 'FR-16', 'FR-28', 'FL-21'];
/** What is written under other record keys, or elsewhere, is no difference. */
const noDifference = ['FR-13', 'FR-19', 'FR-28', 'FL-21'];

/**
 * Whether a full refresh may do what it was asked for. Facts in, a decision out. Invariant: whatever would be lost for
 * good is lost only where `allowLoss` says so.
 */
export function decideRefresh(request: RefreshRequest, facts: RequestFacts): RefreshDecision {
  const { table, mode, allowLoss, keepUnrecoverable, isShadow = false } = request;
  if (allowLoss && keepUnrecoverable) {
    return refuse('USAGE', '--allow-loss and --keep-unrecoverable exclude each other', {
      hint: 'Either what can not be read again goes, or it stays.',
    });
  }
  if (facts.isJoined && keepUnrecoverable) {
    return refuse('USAGE', `rows of the join "${table}" cannot be kept one by one`, {
      detail:
        'Which of them come again is not known: a joined row does not say where its two rows are.',
      hint: 'Let them go with --allow-loss, or leave the join as it is.',
    });
  }
  if (facts.isJoined && mode === 'beside' && !isShadow) {
    return refuse(
      'USAGE',
      `a join of two streams writes table "${table}", so it is refreshed in place only`,
      {
        detail: 'What it keeps of both sides is forgotten with its rows.',
        hint: `Empty it with the tables that read it, and let the next run fill them in order: tidemark refresh ${table} --cascade --in-place. What would become of it tells: tidemark refresh ${table} --shadow`,
      },
    );
  }
  if (facts.downstream.length > 0) {
    return refuse('USAGE', `other tables read table "${table}"`, {
      detail: `They would go on from rows that are no longer there: ${facts.downstream.join(', ')}.`,
      hint: `Refresh them with it, in order: tidemark refresh ${table} --cascade${mode === 'in_place' ? ' --in-place' : ''}`,
    });
  }
  if (facts.isLimited && keepUnrecoverable) {
    return refuse(
      'USAGE',
      `rows that LIMIT let through into "${table}" cannot be kept one by one`,
      {
        detail: 'As many more would be let through beside them.',
        hint: `Let them go with --allow-loss, or leave the table as it is. tidemark refresh ${table} --plan tells what would go.`,
      },
    );
  }
  const [above] = facts.appendedFrom;
  if (above !== undefined && keepUnrecoverable && mode === 'in_place') {
    return refuse(
      'USAGE',
      `rows of table "${table}" cannot be kept in place beside those of "${above}"`,
      {
        detail: `What "${above}" keeps is read from it again, and would be appended a second time.`,
        hint: `Build both beside the live ones, which keeps each row once: the same command without --in-place.`,
      },
    );
  }
  if (facts.otherForm !== undefined) {
    const [what, between] =
      facts.otherForm === 'mode'
        ? ['output mode', 'old and new records would stand side by side']
        : ['number of partitions', 'the rows of a key would be in two places'];
    return refuse(
      'DEFINITION_CHANGED',
      `the topic of table "${table}" cannot take records of another form`,
      {
        detail: `The ${what} changed: ${between}, whichever way the table is refreshed.`,
        hint: `Restore the definition, or ${moveTo(table, facts.otherForm)}.`,
      },
    );
  }
  return (
    refuseForm(request, facts) ??
    (allowLoss ? undefined : refuseUntold(request, facts)) ??
    (keepUnrecoverable || allowLoss ? undefined : refuseLoss(request, facts)) ??
    (allowLoss ? undefined : refuseUnreadable(request, facts)) ??
    (keepUnrecoverable && facts.pendingLost > 0 ? refusePending(facts.pendingLost) : undefined) ??
    (mode === 'beside' ? refuseDifference(facts) : undefined) ?? { decision: 'go' }
  );
}

function refuseForm(
  { mode, keepUnrecoverable }: RefreshRequest,
  { changes }: RequestFacts,
): RefreshDecision | undefined {
  const reasons = changes.filter(
    ({ id, effect }) => effect === 'refresh' && unmergeable.includes(id),
  );
  if (!keepUnrecoverable || reasons.length === 0) return undefined;
  const isNeeded = mode === 'in_place' || reasons.some(({ id }) => noDifference.includes(id));
  return refuse('DEFINITION_CHANGED', 'rows that can not be read again no longer fit the table', {
    detail: reasons.map(({ id, text }) => `${text} (${id})`).join(' '),
    hint: `Keep them in a table of their own: give this one a new topic and its flow a new name; or let them go with ${isNeeded ? '--in-place ' : ''}--allow-loss.`,
  });
}

/** Rows that nobody knows can't be kept, either; what the table holds still can. */
function refuseUntold(
  { table, mode, keepUnrecoverable }: RefreshRequest,
  { untold }: RequestFacts,
): RefreshDecision | undefined {
  if (untold === undefined || (keepUnrecoverable && untold.holdsRows)) return undefined;
  const command = `tidemark refresh ${table}${mode === 'in_place' ? ' --in-place' : ''}`;
  const keep = untold.holdsRows
    ? `Keep what the table holds now and can not be read again: ${command} --keep-unrecoverable.`
    : `If there is a copy of topic "${untold.topic}", put it back first: what it holds can be kept then (--keep-unrecoverable).`;
  return refuse(
    'DATA_LOSS_REFUSED',
    `what a refresh of table "${table}" would lose can not be told`,
    {
      detail: untoldText(untold),
      hint: `${keep} Or accept that what is gone stays gone: ${command} --allow-loss`,
    },
  );
}

function refuseLoss(
  { table, mode }: RefreshRequest,
  { lost, pendingLost }: RequestFacts,
): RefreshDecision | undefined {
  if (lost.keys === 0 && pendingLost === 0) return undefined;
  const levels = lost.levels > 0 ? `, levels of empty keys: ${lost.levels}` : '';
  const pending = pendingLost > 0 ? `, rows between the stages: ${pendingLost}` : '';
  return refuse(
    'DATA_LOSS_REFUSED',
    `a refresh of table "${table}" would lose what can not be read again`,
    {
      detail: `Keys: ${lost.keys}, rows: ${lost.rows}${levels}${pending}. tidemark refresh ${table} --plan --lost-keys FILE names them.`,
      hint:
        mode === 'in_place'
          ? 'Accept the loss with --in-place --allow-loss, or keep those rows with --in-place --keep-unrecoverable.'
          : 'Accept the loss with --allow-loss, or keep those rows with --keep-unrecoverable.',
    },
  );
}

/** An emptied table would be filled without them, or not at all. */
function refuseUnreadable(
  { table }: RefreshRequest,
  { trial }: RequestFacts,
): RefreshDecision | undefined {
  if (trial === undefined || trial === null || !isUnreadable(trial)) return undefined;
  const { deadLetters, stops, sample } = trial;
  const [first] = sample;
  const counts = [
    ...(deadLetters > 0 ? [`dead letters: ${deadLetters}`] : []),
    ...(stops > 0 ? [`records at which the flow would stop: ${stops}`] : []),
  ];
  const place = first && `${first.topic}/${first.partition}@${first.offset}: ${first.errorClass}`;
  return refuse(
    'DATA_LOSS_REFUSED',
    `a refresh of table "${table}" could not read records that the table was computed from`,
    {
      detail: `Read with the present definition, ${counts.join(', ')}${place === undefined ? '' : `; the first is ${place}`}. The table is as it was.`,
      hint: `tidemark refresh ${table} --plan tells why. Correct the definition, or accept with --allow-loss that their rows are gone.`,
    },
  );
}

function refusePending(pendingLost: number): RefreshDecision {
  return refuse(
    'DATA_LOSS_REFUSED',
    `${pendingLost} rows between the stages can not be read again`,
    {
      detail: 'They are in no table yet, so they could not be kept.',
      hint: 'Let the pipeline merge them first: tidemark run --once.',
    },
  );
}

function refuseDifference({ changes }: RequestFacts): RefreshDecision | undefined {
  const reasons = changes.filter(
    ({ id, effect }) => effect === 'refresh' && noDifference.includes(id),
  );
  if (reasons.length === 0) return undefined;
  return refuse(
    'DEFINITION_CHANGED',
    'the new rows can not take the place of the old ones one by one',
    {
      detail: reasons.map(({ id, text }) => `${text} (${id})`).join(' '),
      hint: 'Empty the table first with --in-place, or give it a new topic and its flow a new name.',
    },
  );
}

function refuse(
  code: ErrorCode,
  message: string,
  more: { readonly detail?: string; readonly hint: string },
): RefreshDecision {
  return { decision: 'refuse', code, message, ...more };
}

/** The error of a refusal; undefined: it may go on. */
export function refusalOf(decision: RefreshDecision): FlowError | undefined {
  if (decision.decision === 'go') return undefined;
  const { code, message, detail, hint } = decision;
  return new FlowError(code, message, { ...(detail === undefined ? {} : { detail }), hint });
}
