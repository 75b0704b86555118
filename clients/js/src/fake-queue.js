'use strict';

const { CallError } = require('./errors.js');
const { FakeGroups } = require('./fake-groups.js');
const { FakeLinks } = require('./fake-links.js');
const { makeOutcome } = require('./fake-outcome.js');

const SETTLED = ['completed', 'error', 'cancelled'];

/** A row as it goes over the wire: a copy, without what only the fake keeps. */
function rowOnWire({ generation, isAcknowledged, ...row }) {
  return structuredClone(row);
}

const isOfGroup = (outcome) => outcome.counts !== undefined;

function dependencyError(row, message) {
  const error = { errorKind: 'dependency', message };
  return makeOutcome(row, undefined, { kind: 'error', attempts: 0, requestId: undefined, error });
}

/** The rows, the journal and the pauses of the fake. It does not model the rules of equal ids. */
class FakeQueue {
  #rows = new Map();
  #links = new FakeLinks(this.#rows);
  #groups = new FakeGroups();
  #isPaused = false;
  #pausedKeys = new Set();
  #pausedGroups = new Set();
  /** Outcomes that are out on the connection, neither acknowledged nor released. */
  #out = new Set();
  #emit;

  /** Unacknowledged outcomes by eventId, oldest first. */
  journal = new Map();
  diagnostics = [];

  /** @param {(event: string, params: object) => void} emit called for each event that follows an answer */
  constructor(emit) {
    this.#emit = emit;
  }

  rows() {
    return [...this.#rows.values()];
  }

  find(id) {
    return this.#rows.get(id);
  }

  add({ id, key = 'seeded', vars = null, state = 'queued', ...given }, weight) {
    const row = {
      id, key, vars, state, bytesSent: 0, totalBytes: 0, attempts: 0, updatedAt: Date.now(), generation: 1,
      ...structuredClone(given),
    };
    this.#rows.set(id, row);
    this.#tellGroup(row, weight);
    return row;
  }

  /** What holds an entry back, in words; undefined when it may be sent. */
  gateOf(id) {
    return this.#links.gateOf(id);
  }

  /** The request of an entry with the values that it takes from earlier answers. */
  expand(id, request) {
    return this.#links.expand(id, request);
  }

  clear() {
    this.#rows.clear();
    this.journal.clear();
    this.#links.clear();
    this.#groups.clear();
    this.#isPaused = false;
    this.#pausedKeys.clear();
    this.#pausedGroups.clear();
    this.diagnostics = [];
    this.connectionEnded();
  }

  connectionEnded() {
    this.#out.clear();
  }

  /** Puts out every outcome that the connection does not hold. */
  replay() {
    for (const [eventId, outcome] of this.journal) {
      if (!this.#out.has(eventId)) this.#emit(isOfGroup(outcome) ? 'groupSettled' : 'settled', outcome);
    }
  }

  /**
   * Journals an outcome and moves its row, and all that ends with it: entries that wait for it, and groups.
   * @returns {object[]} the outcomes, this one first
   */
  settle(outcome) {
    const outcomes = [];
    for (const waiting = [outcome]; waiting.length > 0;) {
      const next = waiting.shift();
      const row = this.#rows.get(next.id);
      outcomes.push(next);
      this.journal.set(next.eventId, next);
      this.#move(row, next.state, { bytesSent: next.bytesSent, attempts: next.attempts });
      this.#emit('settled', next);
      for (const [id, message] of this.#links.settled(next)) {
        waiting.push(dependencyError(this.#rows.get(id), message));
      }
    }
    for (const group of new Set(outcomes.map(({ id }) => this.#rows.get(id).group))) {
      const ended = group === undefined ? undefined : this.#groups.end(group);
      if (!ended) continue;
      outcomes.push(ended);
      this.journal.set(ended.eventId, ended);
      this.#emit('groupSettled', ended);
    }
    return outcomes;
  }

  /** An outcome goes out to the client. */
  sent(outcome) {
    this.#out.add(outcome.eventId);
    if (this.journal.has(outcome.eventId)) outcome.deliveries += 1;
  }

  /** Performs a method; undefined is the empty result. */
  perform(method, params) {
    return this.#methods[method]?.(params);
  }

  #methods = {
    enqueue: (params) => this.#enqueueAll([params], () => '').entries[0],
    enqueueAll: ({ entries }) => this.#enqueueAll(entries, (index) => `entries[${index}].`),
    cancel: ({ id, group }) => (group === undefined ? this.#cancel(id) : this.#cancelGroup(group)),
    retry: ({ id }) => this.#retry(id),
    pause: (scope) => this.#pause(scope, true),
    resume: (scope) => this.#pause(scope, false),
    updateHeaders: ({ keys }) => this.#leaveAuth(keys),
    getRequests: (filter) => ({ requests: this.#select(filter).map(rowOnWire) }),
    ackEvents: ({ eventIds }) => {
      for (const eventId of eventIds) this.#acknowledge(eventId);
    },
    releaseEvents: ({ eventIds }) => {
      for (const eventId of eventIds) this.#out.delete(eventId);
    },
    takeDiagnostics: () => ({ records: this.diagnostics.splice(0) }),
    explain: ({ id, group }) => (group === undefined ? this.#explain(id) : this.#explainGroup(group)),
    ping: () => ({ now: Date.now() }),
    stats: () => ({
      entries: this.#countStates(), outcomes: { unacknowledged: this.journal.size },
      attempts: { started: 0, completed: 0, failed: 0 }, bytes: { sent: 0, received: 0 },
      commits: 0, requests: 0, events: { dropped: 0 },
    }),
  };

  #enqueueAll(entries, place) {
    this.#links.check(entries, place);
    const taken = entries.map((entry) => this.#enqueue(entry));
    const live = entries.filter((entry, index) => taken[index].disposition !== 'kept');
    for (const entry of live) {
      const message = this.#links.add(entry);
      if (message) this.settle(dependencyError(this.#rows.get(entry.id), message));
    }
    return { entries: taken };
  }

  #enqueue({ id, key, vars = null, request, group, lane, weight }) {
    const before = this.#rows.get(id);
    if (before?.isAcknowledged && before.state === 'completed') {
      return { id, generation: before.generation, disposition: 'kept', row: rowOnWire(before) };
    }
    const row = this.add({
      id, key, vars, state: this.#holdsBack({ key, group }) ? 'paused' : 'queued',
      totalBytes: request.data === undefined ? 0 : Buffer.byteLength(JSON.stringify(request.data)),
      generation: before ? before.generation + (SETTLED.includes(before.state) ? 1 : 0) : 1,
      ...(group === undefined ? {} : { group }), ...(lane === undefined ? {} : { lane }),
    }, weight);
    this.#emit('state', rowOnWire(row));
    const disposition = before ? 'replaced' : 'created';
    return { id, generation: row.generation, disposition, row: rowOnWire(row) };
  }

  #cancel(id) {
    const row = this.#rows.get(id);
    if (!row) return;
    if (!SETTLED.includes(row.state)) {
      this.settle(makeOutcome(row, undefined, { kind: 'cancelled' }));
      return;
    }
    this.#forget(row);
    for (const [eventId, outcome] of this.journal) if (outcome.id === id) this.journal.delete(eventId);
    this.#tidy();
  }

  #cancelGroup(group) {
    const members = this.#select({ group });
    const live = members.filter(({ state }) => !SETTLED.includes(state));
    for (const { id } of live.length > 0 ? live : members) this.#cancel(id);
    if (live.length > 0) return;
    for (const [eventId, outcome] of this.journal) if (outcome.group === group) this.journal.delete(eventId);
    this.#groups.cancelled(group);
  }

  #explain(id) {
    const row = this.#rows.get(id);
    const gate = row && !SETTLED.includes(row.state) ? this.gateOf(id) : undefined;
    return { id, state: row?.state, gates: gate ? [gate] : [] };
  }

  #explainGroup(group) {
    if (!this.#groups.has(group)) {
      const data = { code: 'E_INVALID', path: 'group' };
      throw new CallError('explain', { code: -32602, message: 'group: names no group', data });
    }
    const { counts, progress } = this.#groups.status(group);
    const live = this.#select({ group }).filter(({ state }) => !SETTLED.includes(state));
    return { group, counts, progress, entries: live.slice(0, 100).map(({ id }) => this.#explain(id)) };
  }

  #retry(id) {
    const row = this.#rows.get(id);
    if (!row || row.state === 'completed' || row.state === 'cancelled') {
      const message = row ? `id: is ${row.state}` : 'id: names no entry';
      throw new CallError('retry', { code: -32602, message, data: { code: 'E_INVALID', path: 'id' } });
    }
    const { generation } = row;
    if (row.state === 'error') this.#links.reopened(id);
    const reopens = row.state === 'error' && { generation: generation + 1, attempts: 0, bytesSent: 0 };
    if (row.state === 'error' || row.state === 'awaiting-auth' || row.nextAttemptAt !== undefined) {
      delete row.nextAttemptAt;
      this.#move(row, this.#holdsBack(row) ? 'paused' : 'queued', reopens);
    }
    return { row: rowOnWire(row) };
  }

  #pause({ keys, groups }, pauses) {
    const change = pauses ? 'add' : 'delete';
    if (keys === undefined && groups === undefined) this.#isPaused = pauses;
    for (const key of keys ?? []) this.#pausedKeys[change](key);
    for (const group of groups ?? []) this.#pausedGroups[change](group);
    for (const row of this.#rows.values()) {
      const holds = this.#holdsBack(row);
      if (holds && ['queued', 'running', 'awaiting-auth'].includes(row.state)) this.#move(row, 'paused');
      else if (!holds && row.state === 'paused') this.#move(row, 'queued');
    }
  }

  #leaveAuth(keys) {
    for (const row of this.#rows.values()) {
      if (row.state === 'awaiting-auth' && (keys?.includes(row.key) ?? true)) this.#move(row, 'queued');
    }
  }

  #select({ key, id, state, group }) {
    return this.rows().filter((row) => row.key === (key ?? row.key) && row.id === (id ?? row.id)
      && row.state === (state ?? row.state) && row.group === (group ?? row.group));
  }

  #acknowledge(eventId) {
    const outcome = this.journal.get(eventId);
    this.journal.delete(eventId);
    this.#out.delete(eventId);
    if (outcome && isOfGroup(outcome)) this.#groups.acknowledged(outcome, this.#rows);
    const row = this.#rows.get(outcome?.id);
    // An error stays until it is cancelled or enqueued again; what was enqueued since is another generation.
    if (row && outcome.kind !== 'error' && outcome.generation === row.generation) {
      row.isAcknowledged = true;
      this.#links.acknowledged(row.id);
    }
    this.#tidy();
  }

  /** Lets go of what was acknowledged, and is kept for nobody. */
  #tidy() {
    const isKept = ({ id, state, group }) => state === 'completed'
      && (this.#links.isNeeded(id) || this.#groups.keeps(group));
    const next = () => this.rows().find((row) => row.isAcknowledged && !isKept(row));
    for (let row = next(); row; row = next()) this.#forget(row);
  }

  #forget(row) {
    this.#rows.delete(row.id);
    this.#links.forget(row.id);
    this.#groups.forget(row, this.#rows);
  }

  #holdsBack({ key, group }) {
    return this.#isPaused || this.#pausedKeys.has(key) || this.#pausedGroups.has(group);
  }

  #move(row, state, changes = {}) {
    Object.assign(row, { state, updatedAt: Date.now() }, changes);
    this.#emit('state', rowOnWire(row));
    this.#tellGroup(row);
  }

  #tellGroup(row, weight) {
    const status = this.#groups.note(row, weight);
    if (status) this.#emit('group', status);
  }

  #countStates() {
    const states = ['queued', 'running', 'awaiting-auth', 'paused', ...SETTLED];
    const name = (state) => (state === 'awaiting-auth' ? 'awaitingAuth' : state);
    return Object.fromEntries(states.map((state) => [name(state), this.#select({ state }).length]));
  }
}

module.exports = { FakeQueue, rowOnWire };
