import type { Wish } from '../src/testing/simulation/simulation-scenario.ts';

/** One edit of a source file: a text that must be there exactly once, and what takes its place. */
export type Edit = { readonly file: string; readonly from: string; readonly to: string };

export type Mutant = {
  readonly name: string;
  /** What no longer holds. */
  readonly breaks: string;
  /** The pipeline in which it shows; undefined: whichever the seeds draw. */
  readonly shape?: string;
  /** What has to happen for it to show; undefined: whatever the seeds draw. */
  readonly disturbance?: Wish;
  readonly edits: readonly Edit[];
};

function mutant(name: string, breaks: string, ...edits: readonly Edit[]): Mutant {
  return { name, breaks, edits };
}

function mutantIn(shape: string, name: string, breaks: string, ...edits: readonly Edit[]): Mutant {
  return { name, breaks, shape, edits };
}

function refreshing(name: string, breaks: string, ...edits: readonly Edit[]): Mutant {
  return { ...mutant(name, breaks, ...edits), disturbance: 'refresh' };
}

function edit(file: string, from: string, to: string): Edit {
  return { file, from, to };
}

const flowRunner = 'src/runtime/worker/flow-runner.ts';
const flowTakeover = 'src/runtime/takeover/flow-takeover.ts';
const worker = 'src/runtime/worker/worker.ts';
const takeover = 'src/runtime/takeover/takeover.ts';
const tableSlot = 'src/runtime/worker/table-slot.ts';
const replaceUsing = 'src/operators/replace-using.ts';

/**
 * Deliberate bugs, each of which the simulation has to find: in the merge, the commit, the takeover, the state, and in
 * what the log and the state store owe by their contracts.
 */
export const mutants: readonly Mutant[] = [
  // The merge
  mutant(
    'provenance ignored',
    'a redelivered row is the row that is there',
    edit(
      replaceUsing,
      'if (position >= 0) return this.#repeat(position, input);',
      'if (position >= 0) this.#rows.push({ provenance: input.provenance, row: input.row });',
    ),
    edit(replaceUsing, 'if (position !== undefined) return this.#repeat(position, input);', ''),
  ),
  mutant(
    'tie replaces',
    'rows of an equal sequence stay together',
    edit(
      replaceUsing,
      "return this.#options.order === 'provenance' ? this.#join(input) : this.#append(input);",
      "this.#rows = []; this.#positions = undefined; return this.#options.order === 'provenance' ? this.#join(input) : this.#append(input);",
    ),
  ),
  mutant(
    'superseded row wins',
    'a lower sequence changes nothing',
    edit(
      'src/task/key/key-state.ts',
      "    const order = this.#compare(key, row);\n    if (order < 0) return 'superseded';\n    if (order > 0) {",
      '    const order = this.#compare(key, row);\n    if (order !== 0) {',
    ),
  ),
  mutant(
    'numbered rows stay',
    'rows that a shorter set no longer has are deleted',
    edit(
      'src/task/table-task.ts',
      'for (let position = before - 1; position >= from; position -= 1) {',
      'for (let position = before - 1; position >= before; position -= 1) {',
    ),
  ),
  mutant(
    'branch forgotten',
    'the branch of a union is part of where a row came from',
    edit(
      'src/task/flow-task.ts',
      'provenanceTemplate(options.topicId, options.partition, program.provenanceBranch)',
      'provenanceTemplate(options.topicId, options.partition, 0)',
    ),
  ),
  mutant(
    'element forgotten',
    'the element of an array is part of where a row came from',
    edit(
      'src/task/row/row-steps.ts',
      'next([...row, ...element], index * elementsMax + position);',
      'next([...row, ...element], index * elementsMax + 0 * position);',
    ),
  ),
  // Commit
  mutant(
    'goes on in doubt',
    'after any doubt every partition is taken over anew',
    edit(
      worker,
      'this.#isInDoubt = true;\n    // Opened again under the same id',
      '// Opened again under the same id',
    ),
  ),
  mutant(
    'rebalance without commit',
    'partitions are let go with nothing uncommitted',
    edit(
      worker,
      'await this.#transaction.commit(this.#activeRunners());\n    await this.#transaction.settle();\n    await runner.settle();\n    return true;',
      "if (status === 'joining') await this.#transaction.commit(this.#activeRunners());\n    return true;",
    ),
  ),
  mutant(
    'counters start anew',
    'the account rides with the checkpoint',
    edit(flowTakeover, 'startCounters(work, committed.metadata,', `startCounters(work, '["m1"]',`),
  ),
  mutant(
    'offsets without effects',
    'no offset is committed whose rows are not in the transaction',
    edit(
      flowRunner,
      'read.position = Math.min(slice.nextOffset, until);',
      'read.position = Math.min(slice.nextOffset, until) + (slice.nextOffset < slice.stableOffset ? 1 : 0);',
    ),
  ),
  mutantIn(
    'shared',
    'slice of before',
    'a slice is processed only where it goes on from the position, whatever a reader gives',
    edit(flowRunner, 'if (slice.fromOffset !== read.position) {', 'if (slice.fromOffset < 0) {'),
    // As long as the reader keeps its contract, the flow has nothing to refuse.
    edit(
      'src/adapters/memory/memory-reader.ts',
      'return read.filter(([position]) => this.#isCurrent(position)).map(([, slice]) => slice);',
      'return read.filter(([position]) => this.#isCurrent(position) || true).map(([, slice]) => slice);',
    ),
    edit(
      'src/testing/simulation/simulated-log.ts',
      'return this.#assigned.get(name) === before.get(name);',
      'return this.#assigned.get(name) === before.get(name) || true;',
    ),
  ),
  mutantIn(
    'plain',
    'missed generation',
    'a task survives only where its partition was nobody else’s',
    edit(
      'src/runtime/worker/flow-membership.ts',
      'return before?.memberId === after.memberId && after.generation <= before.generation + 1;',
      'return before !== undefined;',
    ),
  ),
  mutant(
    'poll lost in a drop',
    'what a reader gives is processed or asked for again',
    edit(
      'src/runtime/worker/slice-polls.ts',
      'this.#ready.push(...slices);',
      'if (drops === this.#drops) this.#ready.push(...slices);',
    ),
  ),
  // Takeover
  mutantIn(
    'plain',
    'restore to the last stable offset',
    'state is complete at the high watermark',
    edit(takeover, 'if (range.stable >= goal) return', 'if (range.stable >= 0) return'),
  ),
  mutant(
    'restore stops early',
    'state is complete before the first row is merged',
    edit(takeover, 'while (mark.offset < end) {', 'if (mark.offset < end) {'),
  ),
  mutant(
    'state ahead of its log',
    'state beyond the end of the output topic is no state of it',
    edit(
      takeover,
      'if (isUsable && found.offset > range.end)',
      'if (isUsable && found.offset < 0)',
    ),
  ),
  mutant(
    'nobody is fenced',
    'the transaction of a dead instance does not hold up the living',
    edit(takeover, '    await log.fence(name);\n', ''),
  ),
  mutant(
    'retention unnoticed',
    'records that are gone before they were read stop the flow',
    edit(
      'src/refresh/continuity.ts',
      "if (committed < start) return gapOf(facts, 'expired', String(committed));",
      "if (committed < start) return { decision: 'go_on', position: start };",
    ),
  ),
  mutant(
    'recreation unnoticed',
    'another topic under the same name stops the flow',
    edit(
      'src/refresh/continuity.ts',
      'checkpointTopicId !== undefined && checkpointTopicId !== topicId',
      'checkpointTopicId !== undefined && checkpointTopicId === undefined',
    ),
  ),
  mutant(
    'accepted for ever',
    'a gap that was accepted covers what was gone when it was found, and no more',
    edit('src/runtime/takeover/gaps.ts', 'to >= gap.to)', 'to >= 0)'),
  ),
  {
    ...mutant(
      'false gap of a zombie',
      'what a new owner has read and deleted is no gap',
      edit(flowTakeover, 'if (now?.offset === seen.offset) return;', 'if (now !== null) return;'),
    ),
    disturbance: 'oversleep',
  },
  mutantIn(
    'appended',
    'written topics unwatched',
    'an open transaction of a dead instance does not hold up the readers of dead letters and appended rows',
    edit(
      'src/runtime/takeover/stuck-partitions.ts',
      'void this.#ask(runners);',
      'this.#isAsking = false;',
    ),
  ),
  {
    ...mutant(
      'finishes next to a turn',
      'a stop that no longer waits for a turn commits nothing of it',
      edit(
        worker,
        'isLoopOver ? this.#finish() : Promise.reject(stillTurning())',
        '(isLoopOver || stillTurning() !== undefined) ? this.#finish() : Promise.reject(stillTurning())',
      ),
      // Else what is begun so is over before it has sent anything.
      edit(
        worker,
        'if (!(await Promise.race([isFinished, this.#stopIsLate])))',
        'if (!(await Promise.race(isLoopOver ? [isFinished, this.#stopIsLate] : [isFinished])))',
      ),
    ),
    disturbance: 'linger',
  },
  mutantIn(
    'appended',
    'appended twice',
    'a row of an append flow is there once, however often its record is read',
    edit(
      'src/runtime/worker/flow-runner.ts',
      'offsets.push({ topic, partition, offset: position, metadata });',
      'if (this.facts.repartition !== undefined || position % 7 !== 0) offsets.push({ topic, partition, offset: position, metadata });',
    ),
  ),
  // State
  mutant(
    'mark unchecked',
    'entries are used only where the state stands where it was left',
    edit(tableSlot, 'if (!isSameMark(view.mark, mark)) {', 'if (view.entries.length < 0) {'),
  ),
  mutant(
    'read before the write',
    'the state is read once it has followed the last commit',
    edit(
      tableSlot,
      '    do await this.settle();\n    while (this.#writing !== undefined);\n    return this.#read(keys);',
      '    return this.#read(keys);',
    ),
  ),
  mutant(
    'cache without bound',
    'a task holds as many keys as its cache may, and those of the open transaction',
    edit(
      'src/task/key/key-generations.ts',
      'if (this.#young.byteLength <= this.#bytesMax) return;',
      'return;',
    ),
  ),
  // In a pipeline without truncates: each of those touches every key.
  mutantIn(
    'historical',
    'cache of changes without bound',
    'so does a task of AUTO CDC',
    edit('src/task/key/key-cache.ts', 'if (this.#youngBytes <= this.#bytesMax) return;', 'return;'),
  ),
  // Expectations, sinks, flows that run once, change feeds, views
  mutantIn(
    'viewed',
    'dropped by a view and counted as kept',
    'expectations of views are counted for each row, met or not',
    edit(
      'src/task/row/judge.ts',
      'judged.count(expectation, isMet);',
      'judged.count(expectation, true);',
    ),
  ),
  mutantIn(
    'viewed',
    'a view drops nothing',
    'a row that a view drops is as if its source had never produced it',
    edit(
      'src/task/row/row-steps.ts',
      'if (judge(row)) next(row, index);',
      'if (judge(row) || true) next(row, index);',
    ),
  ),
  mutantIn(
    'sunk',
    'sinks unwatched',
    'an open transaction of a dead instance does not hold up the readers of a sink',
    edit(
      'src/runtime/takeover/stuck-partitions.ts',
      'if (facts.repartition === undefined) topics',
      'if (facts.repartition === undefined && facts.table.isSink !== true) topics',
    ),
  ),
  mutantIn(
    'backfilled',
    'once and again',
    'a flow that runs once reads what was there when it started first, and nothing later',
    edit(
      'src/runtime/views/once-pins.ts',
      'const known = readPins(flow, catalog);\n  if (known !== undefined) return known;',
      'const known = readPins(flow, catalog);\n  if (known?.isDone === true) return known;',
    ),
    // What stands in the catalog since holds as well.
    edit(
      'src/runtime/views/once-pins.ts',
      'return readPins(flow, catalog) ?? { isDone: false,',
      'return { isDone: false,',
    ),
  ),
  mutantIn(
    'replaced_once',
    'once and not all',
    'a flow that runs once reads all that was there',
    edit(
      'src/runtime/views/once-pins.ts',
      'numbers.map((partition) => ranges.get(partition)?.end ?? 0)',
      'numbers.map((partition) => Math.max(0, (ranges.get(partition)?.end ?? 0) - 1))',
    ),
  ),
  mutantIn(
    'backfilled',
    'the last pins hold',
    'whoever wakes up later does not move the end of a flow that runs once',
    edit(
      'src/runtime/topics/catalog.ts',
      "if (kind === 'once' && isOverruled(entries.get(name), entry)) return;",
      '',
    ),
  ),
  mutantIn(
    'upserted',
    'a delete is forgotten',
    'a delete outlives its row, so that an older one which comes late stays dead',
    edit(
      'src/operators/scd1.ts',
      '    if (change.isDelete) {\n      kept.push(change);\n      break;',
      '    if (change.isDelete) {\n      break;',
    ),
  ),
  mutantIn(
    'upserted',
    'a truncate of what is at hand',
    'a truncate reaches every key, those that no cache holds, too',
    edit('src/task/change-task.ts', 'return this.#needsAllKeys;', 'return false;'),
  ),
  mutantIn(
    'upserted',
    'a truncate that met no rows',
    'the state never tells of levels that it does not hold',
    edit('src/task/change-task.ts', '    this.#keepFloor(entries);\n', ''),
  ),
  mutantIn(
    'upserted',
    'who comes last wins',
    'at one sequence it is not arrival that decides',
    edit(
      'src/data/change.ts',
      'if (order < 0) low = middle + 1;',
      'if (order < 0 || compareSpans((others[middle] as Change).sequence, input.sequence) === 0) low = middle + 1;',
    ),
  ),
  mutantIn(
    'historical',
    'history without its ends',
    'what a delete has ended stays in the history',
    edit(
      'src/operators/scd2.ts',
      'if (open !== undefined) rows.push({ ...open, end: sequence });',
      'if (open !== undefined && kept.length < 3) rows.push({ ...open, end: sequence });',
    ),
  ),
  mutantIn(
    'emptied',
    'levels not restored',
    'deletes are known again after the state was lost',
    edit(takeover, 'mark: await restoreLevels(options, session, partition, mark),', 'mark,'),
  ),
  mutantIn(
    'summed',
    'groups that a row has left',
    'a group that is computed again is without the rows that went to another one',
    edit('src/task/row/part-rows.ts', '      this.#parts.get(part)?.units.delete(unit);\n', ''),
  ),
  mutantIn(
    'distinct_rows',
    'equal rows of one transaction',
    'a row that was let through is known in the transaction that lets it through',
    edit('src/task/sift-task.ts', '      known.stored = letThrough;\n', ''),
  ),
  mutantIn(
    'distinct_rows',
    'let through and forgotten',
    'what was let through is known again from its records',
    edit(
      'src/task/restore/restore-sifted.ts',
      'if (keyEnd >= 0) keys.add(',
      'if (keyEnd > bytes.length) keys.add(',
    ),
  ),
  mutantIn(
    'few_rows',
    'one row beyond the limit',
    'LIMIT lets through so many rows and no more',
    edit('src/task/sift-task.ts', 'counters.new >= limit', 'counters.new > limit'),
  ),
  mutantIn(
    'sliced',
    'groups that are gone',
    'a view has no record of a group that is no more',
    edit(
      'src/task/view-records.ts',
      'for (const key of before.keys()) if (!after.has(key)) changes.set(key, undefined);',
      '',
    ),
  ),
  mutantIn(
    'summed',
    'inputs seen too late',
    'what comes in while a view is computed makes it due again',
    edit(
      'src/runtime/views/view-runner.ts',
      '    const offsets = await this.#inputOffsets();\n',
      '',
    ),
    edit(
      'src/runtime/views/view-runner.ts',
      '    const run = await this.#nextRun();\n',
      '    const run = await this.#nextRun();\n    const offsets = await this.#inputOffsets();\n',
    ),
  ),
  mutantIn(
    'summed',
    'a look at the view of another waits for the dead',
    'who waits to hear of a view of another instance can still become its owner',
    edit(
      'src/runtime/views/view-updates.ts',
      'runner.isOwner ? await runner.state() : await this.#stateOfOther(slot)',
      'await runner.state()',
    ),
  ),
  mutantIn(
    'summed',
    'a view waits for the dead',
    'what a dead owner of a view has left open does not hold it up',
    edit('src/runtime/views/view-runner.ts', 'if (this.isOwner) await this.#openProducer();', ''),
  ),
  // Tables over tables, joins of streams, sources that grow
  mutantIn(
    'followed',
    'a version without rows is none',
    'a key is as its last version has it, and empty where the query leaves nothing of that',
    edit(
      'src/task/flow-task.ts',
      'if (this.#emitted === before) this.#emptyKey(program, version, records);',
      '',
    ),
  ),
  mutantIn(
    'paired',
    'only the later of two sides looks for partners',
    'each pair is given out, whichever of its rows comes first',
    edit(
      'src/task/join-task.ts',
      'for (const [left, right, other] of pairsOf(rows, row)) {',
      "for (const [left, right, other] of row.side === 'left' ? [] : pairsOf(rows, row)) {",
    ),
  ),
  mutantIn(
    'paired',
    'kept rows not restored',
    'what a join keeps is known again after the state was lost',
    edit(
      'src/task/restore/restore-kept.ts',
      'const isKept = valueEnd >= 0 && generationOf(records) === generation;',
      'const isKept = valueEnd >= 0 && generationOf(records) === generation && keys.size > 1;',
    ),
  ),
  mutantIn(
    'matched',
    'pairs by their left row',
    'a joined row is known by both of its rows',
    edit('src/task/joined-provenance.ts', 'both.bytes(right.bytes, right.start, right.end);', ''),
  ),
  mutantIn(
    'outer',
    'partners forgotten',
    'a row that had a partner is not given out without one',
    edit(
      'src/task/join-task.ts',
      "this.#keep(state, kind === 'inner' ? rows : withMatches(rows, row, matches));",
      "this.#keep(state, kind === 'inner' || matches.size > 0 ? rows : withMatches(rows, row, matches));",
    ),
  ),
  mutantIn(
    'outer',
    'the fastest partition leads',
    'a watermark does not run ahead of a partition that is read later',
    edit(
      'src/task/join-times.ts',
      'let least = Number.POSITIVE_INFINITY;',
      'let least = Number.NEGATIVE_INFINITY;',
    ),
    edit(
      'src/task/join-times.ts',
      'if (ms > 0) least = Math.min(least, ms);',
      'if (ms > 0) least = Math.max(least, ms);',
    ),
  ),
  mutantIn(
    'outer',
    'times not told',
    'rows without a partner are given out once nobody can come any more',
    edit(
      'src/task/join-task.ts',
      'for (const key of this.#due[side].take(watermark)) due.add(key);',
      '',
    ),
  ),
  mutantIn(
    'plain',
    'later partitions are nobody’s',
    'a partition that is added to a source is read, from its first record on',
    edit(
      'src/adapters/memory/memory-broker.ts',
      'for (const group of this.#groups.values()) group.topicChanged(name);\n    this.announce();',
      'this.announce();',
    ),
  ),
  // Topics that are deleted and created again
  {
    ...mutant(
      'another table at the start',
      'nobody starts with checkpoints of rows that are gone',
      edit(
        'src/runtime/topics/check-topics.ts',
        "throw lostTable({ ...topic, flow }, found === undefined ? 'gone' : 'created again');",
        '',
      ),
    ),
    disturbance: 'recreate',
  },
  {
    ...mutant(
      'another catalog',
      'whoever has lost the catalog goes on with nothing',
      edit(
        'src/runtime/topics/catalog.ts',
        'if (range.end < this.#position) throw this.#lost();',
        '',
      ),
      edit(
        'src/runtime/topics/catalog.ts',
        'if (this.#isAssigned && error instanceof FlowError && isOfAnother(error)) throw this.#lost();',
        'if (this.#isAssigned && error instanceof FlowError && isOfAnother(error)) return [] as Result;',
      ),
    ),
    disturbance: 'recreate',
  },
  {
    ...mutantIn(
      'few_rows',
      'nothing here and nothing to say',
      'who has no partition of a flow whose topics are others leaves it, and is not held up by it for ever',
      edit(flowRunner, 'else if (wanted.size === 0) await this.#takeover.takeNothing();', ''),
    ),
    disturbance: 'recreate',
  },
  {
    ...mutantIn(
      'summed',
      'a view that has stopped is kept',
      'a view that stops on one instance can be computed by another',
      edit(
        'src/runtime/views/view-updates.ts',
        'await isSettledWithin(clock, closeMsMax, slot.runner.close(true));',
        '',
      ),
    ),
    disturbance: 'recreate',
  },
  // What comes one time, and what comes first
  mutantIn(
    'computed_once',
    'a result at each start',
    'what was computed one time is not computed again',
    edit(
      'src/runtime/views/once-result.ts',
      'if (readPins(flow, catalog) === undefined) await computeFirst(options, computed);',
      'await computeFirst(options, computed);',
    ),
    edit(
      'src/runtime/views/once-result.ts',
      'if (readPins(flow, catalog) === undefined) await writeResult(options, computed, producer);',
      'await writeResult(options, computed, producer);',
    ),
  ),
  mutantIn(
    'over_table_once',
    'tables as they happen to be',
    'a once flow finds in a table at least what stood in the sources when the pipeline started',
    edit(
      'src/runtime/worker/start-worker.ts',
      'if (upstream !== undefined) await bringUpToDate(upstream, options, isStopped);',
      '',
    ),
  ),
  mutantIn(
    'sliced_once',
    'a part of what happens to be there',
    'a part that is replaced one time is computed behind what stood in the sources when the pipeline started',
    edit(
      'src/runtime/views/once-upstream.ts',
      'const views = isTriggered\n    ? []',
      'const views = isTriggered || plan.flows.length > 0\n    ? []',
    ),
  ),
  mutantIn(
    'sliced_once',
    'a part again and again',
    'a part that is replaced one time is not computed when its input has gone on',
    edit(
      'src/runtime/views/view-runner.ts',
      "if (isOwn && view.replaceWhere?.once === true) return { state: 'current', last };",
      '',
    ),
  ),
  mutantIn(
    'first_versions',
    'every version is read',
    'with skipChangeCommits no version is read but the first',
    edit(
      'src/task/key/first-version.ts',
      'if (!isFirst || valueEnd < 0 || sources === undefined) return undefined;',
      'if ((!isFirst && valueEnd < 0) || valueEnd < 0 || sources === undefined) return undefined;',
    ),
  ),
  mutantIn(
    'first_changes',
    'first once more',
    'a key that was deleted and comes back has no first version again',
    edit(
      'src/task/change-task.ts',
      'const isFirst = before.length === 0;',
      'const isFirst = before.every(({ isDelete }) => isDelete);',
    ),
  ),
  // What log and store owe
  mutantIn(
    'appended',
    'pending offsets not awaited',
    'a checkpoint is read once no open transaction may move it',
    edit(
      'src/adapters/memory/memory-client.ts',
      'while (coordinator.isPending(topic, partitions)) await this.#settled();',
      '',
    ),
  ),
  mutant(
    'fenced in mid-commit',
    'a producer that was fenced between the steps of a commit has not committed',
    edit(
      'src/adapters/memory/memory-producer.ts',
      '    // Somebody may have taken the id over in between, and has aborted the transaction then.\n    if (session.fenced) throw this.#fenced();\n',
      '',
    ),
    // Whoever takes the id over aborts the transaction: that it is another one tells as well.
    edit(
      'src/adapters/memory/memory-producer.ts',
      'if (session.transaction !== transaction) {',
      'if (!session.fenced && session.transaction !== transaction) {',
    ),
  ),
  mutant(
    'zombie commits',
    'who is no member, or one of an earlier generation, is refused',
    edit(
      'src/adapters/memory/memory-group.ts',
      'if (seat === undefined || seat.options.instanceId !== instanceId) {',
      'if (seat !== undefined && seat.options.instanceId !== instanceId) {',
    ),
    edit(
      'src/adapters/memory/memory-group.ts',
      'if (generation !== this.#generation) {',
      'if (generation > this.#generation) {',
    ),
  ),
  mutant(
    'state writes unfenced',
    'a zombie’s write, or one on top of an older image, is refused',
    edit(
      'src/adapters/memory/memory-state-store.ts',
      'if (state?.epoch !== this.#epoch) {',
      'if (state === undefined) {',
    ),
    edit(
      'src/adapters/memory/memory-state-store.ts',
      'if (!goesOn) {',
      'if (goesOn === undefined) {',
    ),
  ),
  // Refreshes
  refreshing(
    'a swap without its locks',
    'who has let go of a flow builds on before it swaps',
    edit(
      'src/runtime/refresh/refresh-record.ts',
      "record.state === 'swapping' && !isHeld(catalog, record)",
      'false && !isHeld(catalog, record)',
    ),
  ),
  refreshing(
    'a swap that nobody can end',
    'what a killed swap left open is ended by whoever it holds up',
    edit(
      'src/runtime/refresh/refresh-run.ts',
      '  await nameWriter(catalog, swapWriterId(options), clock.now());\n',
      '',
    ),
  ),
  refreshing(
    'letters before what was read',
    'what the flow sets aside while a refresh looks on is no loss',
    edit(
      'src/runtime/refresh/refresh-trial.ts',
      '    const spans = await readSpans(options, read);\n    const letters = await deadLettersOf(options, read);\n',
      '    const letters = await deadLettersOf(options, read);\n    const spans = await readSpans(options, read);\n',
    ),
  ),
  refreshing(
    'checkpoints of before',
    'what an instance that slept through a refresh enters of its checkpoints does not count',
    edit(
      'src/runtime/takeover/generation.ts',
      "(mark?.['of'] ?? 0) === generationOf(catalog, flow) ? mark : undefined",
      'generationOf(catalog, flow) < 0 ? undefined : mark',
    ),
  ),
  refreshing(
    'entries that a dead writer hides',
    'who enters something knows all that was entered before',
    edit(
      'src/runtime/topics/catalog.ts',
      'if (this.#position < end) await this.#readHidden(end);',
      'if (this.#position < -end) await this.#readHidden(end);',
    ),
  ),
  {
    ...refreshing(
      'a truncate needs a key',
      'a truncate has none, and is no record that can not be read',
      edit('src/task/row/row-collector.ts', 'if (!isTruncate) key =', 'key ='),
    ),
    shape: 'captured',
  },
];
