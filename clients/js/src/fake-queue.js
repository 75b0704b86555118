'use strict';

const { CallError } = require('./errors.js');
const { makeOutcome } = require('./fake-outcome.js');

const SETTLED = ['completed', 'error', 'cancelled'];

/** A row as it goes over the wire: a copy, without what only the fake keeps. */
function rowOnWire({ generation, ...row }) {
  return structuredClone(row);
}

/** The rows, the journal and the pauses of the fake. It does not model the rules of equal ids. */
class FakeQueue {
  #rows = new Map();
  #isPaused = false;
  #pausedKeys = new Set();
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

  add({ id, key = 'seeded', vars = null, state = 'queued', ...given }) {
    const row = {
      id, key, vars, state, bytesSent: 0, totalBytes: 0, attempts: 0, updatedAt: Date.now(), generation: 1,
      ...structuredClone(given),
    };
    this.#rows.set(id, row);
    return row;
  }

  clear() {
    this.#rows.clear();
    this.journal.clear();
    this.#isPaused = false;
    this.#pausedKeys.clear();
    this.diagnostics = [];
    this.connectionEnded();
  }

  connectionEnded() {
    this.#out.clear();
  }

  /** Puts out every outcome that the connection does not hold. */
  replay() {
    for (const [eventId, outcome] of this.journal) {
      if (!this.#out.has(eventId)) this.#emit('settled', outcome);
    }
  }

  /** Journals an outcome and moves its row. */
  settle(outcome) {
    const row = this.#rows.get(outcome.id);
    this.journal.set(outcome.eventId, outcome);
    this.#move(row, outcome.state, { bytesSent: outcome.bytesSent, attempts: outcome.attempts });
    this.#emit('settled', outcome);
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
    enqueue: (params) => this.#enqueue(params),
    cancel: ({ id }) => this.#cancel(id),
    retry: ({ id }) => this.#retry(id),
    pause: ({ keys }) => this.#pause(keys, true),
    resume: ({ keys }) => this.#pause(keys, false),
    updateHeaders: ({ keys }) => this.#leaveAuth(keys),
    getRequests: (filter) => ({ requests: this.#select(filter).map(rowOnWire) }),
    ackEvents: ({ eventIds }) => {
      for (const eventId of eventIds) this.#acknowledge(eventId);
    },
    releaseEvents: ({ eventIds }) => {
      for (const eventId of eventIds) this.#out.delete(eventId);
    },
    takeDiagnostics: () => ({ records: this.diagnostics.splice(0) }),
    explain: ({ id }) => ({ id, state: this.#rows.get(id)?.state, gates: [] }),
    ping: () => ({ now: Date.now() }),
    stats: () => ({
      entries: this.#countStates(), outcomes: { unacknowledged: this.journal.size },
      attempts: { started: 0, completed: 0, failed: 0 }, bytes: { sent: 0, received: 0 },
      commits: 0, requests: 0, events: { dropped: 0 },
    }),
  };

  #enqueue({ id, key, vars = null, request }) {
    const before = this.#rows.get(id);
    const row = this.add({
      id, key, vars, state: this.#holdsBack(key) ? 'paused' : 'queued',
      totalBytes: request.data === undefined ? 0 : Buffer.byteLength(JSON.stringify(request.data)),
      generation: before ? before.generation + (SETTLED.includes(before.state) ? 1 : 0) : 1,
    });
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
    this.#rows.delete(id);
    for (const [eventId, outcome] of this.journal) if (outcome.id === id) this.journal.delete(eventId);
  }

  #retry(id) {
    const row = this.#rows.get(id);
    if (!row || row.state === 'completed' || row.state === 'cancelled') {
      const message = row ? `id: is ${row.state}` : 'id: names no entry';
      throw new CallError('retry', { code: -32602, message, data: { code: 'E_INVALID', path: 'id' } });
    }
    const { generation } = row;
    const reopens = row.state === 'error' && { generation: generation + 1, attempts: 0, bytesSent: 0 };
    if (row.state === 'error' || row.state === 'awaiting-auth' || row.nextAttemptAt !== undefined) {
      delete row.nextAttemptAt;
      this.#move(row, this.#holdsBack(row.key) ? 'paused' : 'queued', reopens);
    }
    return { row: rowOnWire(row) };
  }

  #pause(keys, pauses) {
    if (keys === undefined) this.#isPaused = pauses;
    else for (const key of keys) this.#pausedKeys[pauses ? 'add' : 'delete'](key);
    for (const row of this.#rows.values()) {
      const holds = this.#holdsBack(row.key);
      if (holds && ['queued', 'running', 'awaiting-auth'].includes(row.state)) this.#move(row, 'paused');
      else if (!holds && row.state === 'paused') this.#move(row, 'queued');
    }
  }

  #leaveAuth(keys) {
    for (const row of this.#rows.values()) {
      if (row.state === 'awaiting-auth' && (keys?.includes(row.key) ?? true)) this.#move(row, 'queued');
    }
  }

  #select({ key, id, state }) {
    return this.rows().filter((row) => row.key === (key ?? row.key) && row.id === (id ?? row.id)
      && row.state === (state ?? row.state));
  }

  #acknowledge(eventId) {
    const outcome = this.journal.get(eventId);
    this.journal.delete(eventId);
    this.#out.delete(eventId);
    const row = this.#rows.get(outcome?.id);
    // An error stays until it is cancelled or enqueued again; what was enqueued since is another generation.
    if (row && outcome.kind !== 'error' && outcome.generation === row.generation) this.#rows.delete(row.id);
  }

  #holdsBack(key) {
    return this.#isPaused || this.#pausedKeys.has(key);
  }

  #move(row, state, changes = {}) {
    Object.assign(row, { state, updatedAt: Date.now() }, changes);
    this.#emit('state', rowOnWire(row));
  }

  #countStates() {
    const states = ['queued', 'running', 'awaiting-auth', 'paused', ...SETTLED];
    const name = (state) => (state === 'awaiting-auth' ? 'awaitingAuth' : state);
    return Object.fromEntries(states.map((state) => [name(state), this.#select({ state }).length]));
  }
}

module.exports = { FakeQueue, rowOnWire };
