import { describe, expect, test } from 'vitest';
import { StateMachine } from '../../../src/base/state-machine.ts';
import type { FlowChange, ReasonId } from '../../../src/refresh/flow-change.ts';
import {
  decideRefresh,
  type RefreshMode,
  type RequestFacts,
  refusalOf,
} from '../../../src/refresh/refresh-request.ts';
import {
  isOver,
  isUntouched,
  type RefreshState,
  refreshTransitions,
} from '../../../src/refresh/refresh-states.ts';
import type { TrialReport } from '../../../src/refresh/trial.ts';
import type { UntoldLoss } from '../../../src/refresh/untold-loss.ts';

const lossless: RequestFacts = {
  lost: { keys: 0, rows: 0, levels: 0 },
  pendingLost: 0,
  isJoined: false,
  isLimited: false,
  appendedFrom: [],
  downstream: [],
  changes: [],
  otherForm: undefined,
};
const lossy: RequestFacts = { ...lossless, lost: { keys: 2, rows: 3, levels: 1 } };
const trial: TrialReport = {
  ...{ records: 9, tried: 9, deadLetters: 0, stops: 0 },
  ...{ setAside: 0, reasons: {}, sample: [], untried: [] },
};
const unreadable: RequestFacts = { ...lossless, trial: { ...trial, deadLetters: 1 } };
const stopping: RequestFacts = { ...lossless, trial: { ...trial, stops: 1 } };
const pending: RequestFacts = { ...lossless, pendingLost: 4 };
const untold: UntoldLoss = { topic: 't', state: 'missing', holdsRows: false, sources: [] };
const gone: RequestFacts = { ...lossless, untold };
const copied: RequestFacts = { ...lossless, untold: { ...untold, holdsRows: true } };

function changed(...ids: readonly ReasonId[]): RequestFacts {
  const changes = ids.map((id): FlowChange => ({ id, effect: 'refresh', text: `${id} changed.` }));
  return { ...lossless, changes };
}

const flags = {
  none: { allowLoss: false, keepUnrecoverable: false },
  allow: { allowLoss: true, keepUnrecoverable: false },
  keep: { allowLoss: false, keepUnrecoverable: true },
  both: { allowLoss: true, keepUnrecoverable: true },
};
const modes: readonly RefreshMode[] = ['beside', 'in_place'];

function codeOf(mode: RefreshMode, flag: keyof typeof flags, facts: RequestFacts): string {
  const decision = decideRefresh({ table: 't', mode, ...flags[flag] }, facts);
  return decision.decision === 'go' ? 'go' : decision.code;
}

/** Over all modes and flags: what each pair gives for the facts. */
describe('whether a refresh may do what it was asked for', () => {
  const cases = modes.flatMap((mode) =>
    (Object.keys(flags) as (keyof typeof flags)[]).map((flag) => [mode, flag] as const),
  );

  test.each(cases)('FR-05 %s, flags: %s', (mode, flag) => {
    const of = (facts: RequestFacts): string => codeOf(mode, flag, facts);
    if (flag === 'both') {
      for (const facts of [lossless, lossy, pending]) expect(of(facts)).toBe('USAGE');
      return;
    }
    expect(of(lossless)).toBe('go');
    expect(of({ ...lossless, trial })).toBe('go');
    expect(of(lossy)).toBe(flag === 'none' ? 'DATA_LOSS_REFUSED' : 'go');
    // What the present definition can not read goes only where somebody says so; to keep it there is no way.
    for (const one of [unreadable, stopping]) {
      expect(of(one)).toBe(flag === 'allow' ? 'go' : 'DATA_LOSS_REFUSED');
    }
    // Where nobody knows what is lost, nothing but what the table holds now can be kept.
    expect(of(gone)).toBe(flag === 'allow' ? 'go' : 'DATA_LOSS_REFUSED');
    expect(of(copied)).toBe(flag === 'none' ? 'DATA_LOSS_REFUSED' : 'go');
    // What is in no table yet can not be kept.
    expect(of(pending)).toBe(flag === 'allow' ? 'go' : 'DATA_LOSS_REFUSED');
    expect(of({ ...lossless, downstream: ['u'] })).toBe('USAGE');
    expect(of({ ...lossless, isJoined: true })).toBe(
      mode === 'beside' || flag === 'keep' ? 'USAGE' : 'go',
    );
    const shadow = { table: 't', mode, ...flags[flag], isShadow: true };
    const { decision } = decideRefresh(shadow, { ...lossless, isJoined: true });
    expect(decision).toBe(flag === 'keep' ? 'refuse' : 'go');
    // As many would come again as LIMIT lets through; and what is kept above would be read and kept below.
    expect(of({ ...lossless, isLimited: true })).toBe(flag === 'keep' ? 'USAGE' : 'go');
    expect(of({ ...lossless, appendedFrom: ['u'] })).toBe(
      flag === 'keep' && mode === 'in_place' ? 'USAGE' : 'go',
    );
    for (const otherForm of ['mode', 'partitions'] as const) {
      expect(of({ ...lossless, otherForm })).toBe('DEFINITION_CHANGED');
    }
  });

  const reasons: readonly ReasonId[] = [
    'FR-11',
    'FR-12',
    'FR-13',
    'FR-14',
    'FR-15',
    'FR-16',
    'FR-19',
    'FR-20',
    'FR-21',
    'FR-22',
    'FR-28',
    'FL-21',
  ];
  const notKept = ['FR-11', 'FR-12', 'FR-13', 'FR-14', 'FR-15', 'FR-16', 'FR-28', 'FL-21'];
  const notBeside = ['FR-13', 'FR-19', 'FR-28', 'FL-21'];

  test.each(reasons)('a change %s', (id) => {
    for (const mode of modes) {
      const refused = (isRefused: boolean) => (isRefused ? 'DEFINITION_CHANGED' : 'go');
      const isNoDifference = mode === 'beside' && notBeside.includes(id);
      expect(codeOf(mode, 'none', changed(id))).toBe(refused(isNoDifference));
      expect(codeOf(mode, 'allow', changed(id))).toBe(refused(isNoDifference));
      expect(codeOf(mode, 'keep', changed(id))).toBe(
        refused(isNoDifference || notKept.includes(id)),
      );
    }
  });

  test('every combination of facts: the first reason in this order, and none where none holds', () => {
    type Facts = RequestFacts & { readonly mode: RefreshMode; readonly flag: keyof typeof flags };
    const isChanged = ({ changes }: Facts, ids: readonly string[]): boolean =>
      changes.some(({ id }) => ids.includes(id));
    const order: readonly (readonly [string, (facts: Facts) => boolean])[] = [
      ['USAGE', ({ flag }) => flag === 'both'],
      ['USAGE', ({ isJoined, flag }) => isJoined && flag === 'keep'],
      ['USAGE', ({ isJoined, mode }) => isJoined && mode === 'beside'],
      ['USAGE', ({ downstream }) => downstream.length > 0],
      ['USAGE', ({ isLimited, flag }) => isLimited && flag === 'keep'],
      [
        'USAGE',
        ({ appendedFrom, mode, flag }) =>
          appendedFrom.length > 0 && mode === 'in_place' && flag === 'keep',
      ],
      ['DEFINITION_CHANGED', ({ otherForm }) => otherForm !== undefined],
      ['DEFINITION_CHANGED', (facts) => facts.flag === 'keep' && isChanged(facts, notKept)],
      ['DATA_LOSS_REFUSED', ({ lost, flag }) => lost.keys > 0 && flag === 'none'],
      ['DATA_LOSS_REFUSED', ({ pendingLost, flag }) => pendingLost > 0 && flag !== 'allow'],
      [
        'DATA_LOSS_REFUSED',
        ({ trial, flag }) =>
          flag !== 'allow' && trial !== undefined && trial?.deadLetters !== trial?.stops,
      ],
      ['DEFINITION_CHANGED', (facts) => facts.mode === 'beside' && isChanged(facts, notBeside)],
    ];
    let combinations = 0;
    const both = [false, true];
    for (const [mode, flag] of cases)
      for (const isJoined of both)
        for (const otherForm of [undefined, 'mode'] as const)
          for (const downstream of [[], ['u']])
            for (const { lost } of [lossless, lossy])
              for (const pendingLost of [0, 4])
                for (const tried of [undefined, trial, { ...trial, deadLetters: 1 }])
                  for (const { changes } of [lossless, ...reasons.map((id) => changed(id))]) {
                    const more = tried === undefined ? {} : { trial: tried };
                    const facts = {
                      ...{ mode, flag, isJoined, otherForm, downstream },
                      // Together with what else there is they make too many.
                      ...{ isLimited: pendingLost > 0, appendedFrom: downstream },
                      ...{ lost, pendingLost, changes, ...more },
                    };
                    const [code = 'go'] = order.find(([, holds]) => holds(facts)) ?? [];
                    combinations += 1;
                    // An assertion for each would take longer than all the rest.
                    if (codeOf(mode, flag, facts) !== code)
                      expect([facts, codeOf(mode, flag, facts)]).toEqual([facts, code]);
                  }
    expect(combinations).toBe(8 * 8 * 2 * 2 * 3 * 13);
  });

  test('a compatible change never stands in the way', () => {
    const changes: FlowChange[] = [{ id: 'FR-12', effect: 'compatible', text: 'It changed.' }];
    for (const mode of modes) expect(codeOf(mode, 'keep', { ...lossless, changes })).toBe('go');
  });

  test('the refusal says what would be lost, and which flags accept it', () => {
    const request = { table: 't', mode: 'beside', ...flags.none } as const;
    const refusal = refusalOf(decideRefresh(request, { ...lossy, pendingLost: 4 }));
    expect(refusal?.code).toBe('DATA_LOSS_REFUSED');
    expect(refusal?.detail).toContain(
      'Keys: 2, rows: 3, levels of empty keys: 1, rows between the stages: 4.',
    );
    expect(refusal?.hint).toMatch(/--allow-loss.*--keep-unrecoverable/);
    expect(refusalOf({ decision: 'go' })).toBeUndefined();
  });
});

describe('the states of a refresh', () => {
  const states = Object.keys(refreshTransitions) as RefreshState[];
  const pairs = states.flatMap((from) => states.map((to) => [from, to] as const));

  test.each(pairs)('%s to %s', (from, to) => {
    const machine = new StateMachine('refresh', refreshTransitions, from);
    if (refreshTransitions[from].includes(to)) {
      machine.transition(to);
      expect(machine.state).toBe(to);
    } else {
      expect(() => machine.transition(to)).toThrow();
    }
  });

  test('each state is reached from one of the two beginnings', () => {
    const reached = new Set<RefreshState>(['building', 'emptying']);
    for (const state of reached) for (const to of refreshTransitions[state]) reached.add(to);
    expect([...reached].sort()).toEqual([...states].sort());
  });

  test('once records are replaced there is no way back', () => {
    for (const state of states) {
      if (isUntouched(state) || isOver(state)) continue;
      expect(refreshTransitions[state]).not.toContain('cancelled');
      expect(refreshTransitions[state].some(isUntouched)).toBe(false);
    }
  });
});
