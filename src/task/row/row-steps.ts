import { assert } from '../../base/assert.ts';
import { FlowError } from '../../base/errors.ts';
import type { Row, Value } from '../../data/value.ts';
import { compile } from '../../expr/compile.ts';
import type { CompileContext, Evaluator, Expression, Frame } from '../../expr/expression.ts';
import { ExpressionError } from '../../expr/expression-error.ts';
import { indexLevels, indexLevelsMax, isMultiplying } from '../../plan/batch/index-levels.ts';
import type {
  ExpectStep,
  ExplodeStep,
  JoinStep,
  RowStep,
  WatermarkStep,
} from '../../plan/pipeline-plan.ts';
import { compileViewJudge, type Judged } from './judge.ts';

/** What is done with a row; `index` tells apart the rows that one record gives. */
export type RowStepRunner = (row: Row, index: number) => void;

/** Rows that steps give and take away; whoever runs them keeps the account. */
export type StepCounters = {
  rows: number;
  filtered: number;
  dropped: number;
  late: number;
  eventTimeMs: number;
};

/** The rows of a static side that may go with a row: equal in the keys of the join, in a fixed order. */
export type FindPartners = (join: JoinStep) => (row: Row, frame: Frame) => readonly Row[];

export const noPartners: FindPartners = ({ side }) => {
  assert(false, `nothing gives the rows of static side "${side.name}"`);
};

export type StepOptions = {
  readonly context: CompileContext;
  readonly frame: Frame;
  readonly counters: () => StepCounters;
  /** Columns of the last projection that nothing reads. */
  readonly unread: ReadonlySet<number>;
  readonly partners: FindPartners;
  /** Who is told what the rows of a view met; undefined: nobody. */
  readonly count?: (view: string) => Judged['count'];
  /** Whoever gets the rows is through with each when its call ends, so that one array serves all of a projection. */
  readonly reusesRows?: boolean;
  /** The time that every partition has reached, in microseconds; undefined: none is known. */
  readonly reached: () => bigint | undefined;
  /** The time that the partition of the row has reached, whatever the others have. */
  readonly reachedAlone?: () => bigint | undefined;
  /** Throws where a time must not move the watermark; undefined: every time may. */
  readonly checkTime?: (micros: bigint) => void;
  readonly finish: RowStepRunner;
};

/** What one level of numbers has room for; the levels of a query share the 56 bits of a row's index. */
export const elementsMax = 2 ** 24;

/** Rows of a run of joins are counted together. */
type JoinRun = { count: number };

/**
 * The steps of a branch as one function from row to rows. Invariant: it holds no state from one row to the
 * next, and the rows of one record get different numbers, the same ones each time.
 */
export function compileSteps(steps: readonly RowStep[], options: StepOptions): RowStepRunner {
  if (indexLevels(steps) > indexLevelsMax) {
    throw new FlowError('NOT_SUPPORTED', `more than ${indexLevelsMax} generators in one query`, {
      hint: 'Split the query: explode the first arrays into a table of their own.',
    });
  }
  const { context, unread } = options;
  const multiplying = steps.filter((step) => isMultiplying(step) || step.step === 'explode');
  let next = options.finish;
  let run: JoinRun = { count: 0 };
  for (const step of [...steps].reverse()) {
    switch (step.step) {
      case 'filter':
        next = filter(step.condition, options, next);
        break;
      case 'project': {
        const isLast = step === steps.at(-1);
        const columns = step.columns.map(({ value }, position) =>
          isLast && unread.has(position) ? undefined : compile(value, context),
        );
        next = project(columns, options, next);
        break;
      }
      case 'explode':
        next = explode(step, options, next);
        break;
      case 'expect':
        next = expect(step, options, next);
        break;
      case 'watermark':
        next = watermark(step, options, next);
        break;
      case 'join': {
        if (!isMultiplying(step)) {
          next = choose(step, options, next);
          break;
        }
        const at = multiplying.indexOf(step);
        const isLast = multiplying[at + 1]?.step !== 'join';
        if (isLast) run = { count: 0 };
        next = join(step, options, next, {
          run,
          isFirst: multiplying[at - 1]?.step !== 'join',
          isLast,
        });
      }
    }
  }
  return next;
}

function filter(
  condition: Expression,
  { context, frame, counters }: StepOptions,
  next: RowStepRunner,
): RowStepRunner {
  const evaluate = compile(condition, context);
  return (row, index) => {
    if (evaluate(row, frame) === true) next(row, index);
    else counters().filtered += 1;
  };
}

/** A row that a view drops is as if its source had never produced it. */
function expect(step: ExpectStep, options: StepOptions, next: RowStepRunner): RowStepRunner {
  const judge = compileViewJudge(step, options, options.count?.(step.view) ?? (() => undefined));
  return (row, index) => {
    if (judge(row)) next(row, index);
    else options.counters().dropped += 1;
  };
}

function watermark(
  { time, delayMicros, leavesOut }: WatermarkStep,
  { context, frame, counters, reached, reachedAlone, checkTime }: StepOptions,
  next: RowStepRunner,
): RowStepRunner {
  const evaluate = compile(time, context);
  return (row, index) => {
    const at = evaluate(row, frame);
    if (typeof at === 'bigint') {
      checkTime?.(at);
      const counted = counters();
      const floor = leavesOut === true ? reachedAlone?.() : reached();
      if (floor !== undefined && at < floor - delayMicros) {
        counted.late += 1;
        if (leavesOut === true) {
          counted.filtered += 1;
          return;
        }
      }
      counted.eventTimeMs = Math.max(counted.eventTimeMs, Number(at / 1000n));
    }
    next(row, index);
  };
}

function project(
  columns: readonly (Evaluator | undefined)[],
  { frame, reusesRows }: StepOptions,
  next: RowStepRunner,
): RowStepRunner {
  const nothing: readonly Value[] = columns.map(() => null);
  const shared = [...nothing];
  const computed = columns.flatMap((evaluate, position) =>
    evaluate === undefined ? [] : [{ evaluate, position }],
  );
  return (row, index) => {
    const projected = reusesRows === true ? shared : [...nothing];
    for (let at = 0; at < computed.length; at += 1) {
      const { evaluate, position } = computed[at] as (typeof computed)[number];
      projected[position] = evaluate(row, frame);
    }
    next(projected, index);
  };
}

function explode(
  step: ExplodeStep,
  { context, frame, counters }: StepOptions,
  next: RowStepRunner,
): RowStepRunner {
  const evaluate = compile(step.value, context);
  const elementsOf = generator(step);
  return (row, index) => {
    const elements = elementsOf(evaluate(row, frame));
    if (elements.length >= elementsMax) throw tooMany('elements to explode');
    counters().rows += elements.length - 1;
    for (const [position, element] of elements.entries()) {
      next([...row, ...element], index * elementsMax + position);
    }
  };
}

function tooMany(what: string): ExpressionError {
  return new ExpressionError('TOO_MANY_ELEMENTS', `more than ${elementsMax} ${what}`);
}

// ---------------------------------------------------------------- joins

/** Whether a row and a candidate belong together, beside being equal in the keys. */
function matcher(
  step: JoinStep,
  { context, frame }: StepOptions,
): (row: Row, candidate: Row) => boolean {
  if (step.condition === undefined) return () => true;
  const evaluate = compile(step.condition, context);
  return (row, candidate) => evaluate([...row, ...candidate], frame) === true;
}

type JoinPlace = {
  readonly run: JoinRun;
  readonly isFirst: boolean;
  readonly isLast: boolean;
};

/**
 * The first join of a run starts the count, and the last one numbers the rows: several joins with one partner
 * each need no more room than one.
 */
function join(
  step: JoinStep,
  options: StepOptions,
  next: RowStepRunner,
  { run, isFirst, isLast }: JoinPlace,
): RowStepRunner {
  const { frame, counters, partners } = options;
  const find = partners(step);
  const isMatch = matcher(step, options);
  const nothing: Row = step.side.columns.map(() => null);
  const isOuter = step.kind === 'left';
  const give = (row: Row, partner: Row, index: number): void => {
    const both = [...row, ...partner];
    if (!isLast) {
      next(both, index);
      return;
    }
    if (run.count >= elementsMax) throw tooMany('rows of one record after joins');
    const number = run.count;
    run.count += 1;
    next(both, index * elementsMax + number);
  };
  return (row, index) => {
    if (isFirst) run.count = 0;
    let matches = 0;
    for (const candidate of find(row, frame)) {
      if (!isMatch(row, candidate)) continue;
      matches += 1;
      give(row, candidate, index);
    }
    if (matches === 0 && isOuter) {
      matches = 1;
      give(row, nothing, index);
    }
    counters().rows += matches - 1;
  };
}

/** Left semi and left anti joins. */
function choose(step: JoinStep, options: StepOptions, next: RowStepRunner): RowStepRunner {
  const { frame, counters, partners } = options;
  assert(step.kind === 'left_semi' || step.kind === 'left_anti', `${step.kind} gives more rows`);
  const find = partners(step);
  const isMatch = matcher(step, options);
  const isWanted = step.kind === 'left_semi';
  return (row, index) => {
    const hasPartner = find(row, frame).some((candidate) => isMatch(row, candidate));
    if (hasPartner === isWanted) next(row, index);
    else counters().filtered += 1;
  };
}

// ---------------------------------------------------------------- generators

type Elements = readonly (readonly Value[])[];

function generator(step: ExplodeStep): (value: Value) => Elements {
  const inner = step.form === 'inline' ? inlineElements(step) : explodeElements(step);
  if (!step.outer) return inner;
  const nothing: Elements = [step.columns.map(() => null)];
  return (value) => {
    const elements = inner(value);
    return elements.length === 0 ? nothing : elements;
  };
}

function explodeElements(step: ExplodeStep): (value: Value) => Elements {
  const isMap = step.value.type.kind === 'map';
  const withPosition = step.form === 'posexplode';
  return (value) => {
    if (value === null) return [];
    const elements: readonly (readonly Value[])[] = isMap
      ? (value as { entries: readonly (readonly [Value, Value])[] }).entries
      : (value as readonly Value[]).map((element) => [element]);
    return withPosition ? elements.map((element, position) => [position, ...element]) : elements;
  };
}

function inlineElements(step: ExplodeStep): (value: Value) => Elements {
  const missing = step.columns.map(() => null);
  return (value) =>
    value === null
      ? []
      : (value as readonly (readonly Value[] | null)[]).map((element) => element ?? missing);
}
