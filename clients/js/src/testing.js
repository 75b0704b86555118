'use strict';

const { randomUUID } = require('node:crypto');
const { CallError, SidecarExited } = require('./errors.js');
const { makeOutcome } = require('./fake-outcome.js');
const { FakeQueue, rowOnWire } = require('./fake-queue.js');
const { textOf } = require('./json-text.js');
const { LIMITS, METHODS, PROTOCOL_VERSION } = require('./protocol.js');

const ACK_TIMEOUT_MS = 2000;
/** Errors with which an entry may end that was not sent. */
const UNSENT = ['expired', 'dependency'];

/** A sidecar without a process: it keeps rows and a journal, and sends nothing. testing.d.ts documents it. */
class FakeSidecar {
  #ackTimeoutMs;
  #ports = null;
  #greeted = false;
  #events = [];
  #queue;
  #failures = [];
  #held = [];
  #settling = new Map();
  #toEmit = [];

  calls = [];
  entries = [];
  ackedEventIds = [];
  releasedEventIds = [];

  emit = Object.fromEntries(
    ['state', 'progress', 'attempt', 'settled', 'group', 'groupSettled', 'resync'].map(
      (event) => [event, (params = {}) => this.#emit(event, params)]));

  constructor({ ackTimeoutMs = ACK_TIMEOUT_MS } = {}) {
    this.#ackTimeoutMs = ackTimeoutMs;
    this.#queue = new FakeQueue((event, params) => this.#emitLater(event, params));
  }

  // What a client uses; see Sidecar in sidecar.js.

  attach(ports) {
    this.#ports = ports;
    this.#disconnect();
  }

  async ready() {
    this.#greet();
    return {
      protocolVersion: PROTOCOL_VERSION, server: { name: 'outtray', version: 'fake' }, pid: process.pid,
      dir: '/fake', role: 'owner', capabilities: [], limits: {
        maxLine: LIMITS.maxLine, maxVars: LIMITS.maxVars, maxInFlight: LIMITS.maxInFlight,
        maxWindow: LIMITS.maxWindow,
      },
    };
  }

  async call(method, params) {
    this.#greet();
    return this.#answer(method, JSON.parse(textOf(params)));
  }

  hold() {}

  async close() {
    this.#disconnect();
  }

  // What a test uses.

  get isSubscribed() {
    return this.#events.length > 0;
  }

  get rows() {
    return this.#queue.rows().map(rowOnWire);
  }

  get unacknowledged() {
    return structuredClone([...this.#queue.journal.values()].filter(({ id }) => id !== undefined));
  }

  get unacknowledgedGroups() {
    return structuredClone([...this.#queue.journal.values()].filter(({ id }) => id === undefined));
  }

  requestOf(id) {
    const entry = this.entries.findLast((each) => each.id === id);
    if (!entry) throw new Error(`the fake has no entry ${id}`);
    this.#requireGoing(id);
    return this.#queue.expand(id, entry.request);
  }

  failNext(method, code = 'E_STORAGE', message = 'made by the fake') {
    this.#failures.push({ method, code, message });
  }

  holdNext(method) {
    const hold = { method, waiting: [] };
    this.#held.push(hold);
    return () => {
      this.#held = this.#held.filter((each) => each !== hold);
      for (const go of hold.waiting) go();
    };
  }

  seedRows(rows) {
    for (const row of rows) this.#queue.add(row);
  }

  seedUnacknowledged(outcomes) {
    for (const given of outcomes) {
      const { id = randomUUID(), key = 'seeded', vars = null } = given;
      const { kind: state = 'completed' } = given;
      const row = this.#queue.find(id) ?? this.#queue.add({ id, key, vars, state });
      const outcome = makeOutcome(row, undefined, given);
      this.#queue.journal.set(outcome.eventId, outcome);
    }
  }

  seedDiagnostics(records) {
    this.#queue.diagnostics.push(...records);
  }

  buildSettled(id, outcome = {}) {
    const row = this.#queue.find(id);
    if (!row) throw new Error(`the fake has no entry ${id}`);
    const entry = this.entries.findLast((each) => each.id === id);
    return makeOutcome(row, entry?.request, outcome);
  }

  async settle(id, outcome) {
    const settled = this.buildSettled(id, outcome);
    const isSent = settled.kind !== 'cancelled' && !UNSENT.includes(settled.error?.errorKind);
    if (isSent) this.#requireGoing(id);
    const heard = this.#queue.settle(settled).filter((each) => (
      each.id !== undefined || this.#events.includes('groupSettled')));
    const acknowledged = heard.map((each) => this.#awaitAck(each));
    this.#flush();
    await Promise.all(acknowledged);
  }

  /** An entry that waits for others cannot have been sent. */
  #requireGoing(id) {
    const gate = this.#queue.find(id) && this.#queue.gateOf(id);
    if (gate) throw new Error(`the entry ${id} cannot be sent: ${gate.detail}`);
  }

  crash({ exitCode = null, signal = 'SIGKILL', stderr = '' } = {}) {
    const exit = new SidecarExited({ exitCode, signal, stderr });
    const held = this.#held.splice(0);
    this.#disconnect();
    for (const { waiting } of held) for (const go of waiting) go(exit);
    this.#ports?.onExit(exit);
  }

  reset() {
    this.calls = [];
    this.entries = [];
    this.ackedEventIds = [];
    this.releasedEventIds = [];
    this.#failures = [];
    this.#held = [];
    this.#toEmit = [];
    this.#queue.clear();
    for (const { done } of [...this.#settling.values()]) done();
  }

  #disconnect() {
    this.#greeted = false;
    this.#events = [];
    this.#toEmit = [];
    this.#queue.connectionEnded();
  }

  #greet() {
    if (this.#greeted) return;
    this.#greeted = true;
    this.#ports?.greet((method, params) => this.#answer(method, params));
  }

  async #answer(method, params) {
    this.calls.push({ method, params });
    await this.#passHolds(method);
    const failure = this.#failures.find((each) => each.method === method);
    if (failure) {
      this.#failures = this.#failures.filter((each) => each !== failure);
      const { code, message } = failure;
      throw new CallError(method, { code: 0, message, data: { code } });
    }
    if (!METHODS.includes(method)) {
      throw new CallError(method, { code: -32601, message: 'no such method', data: { code: 'E_METHOD' } });
    }
    return this.#perform(method, params);
  }

  /** The first call of the method is held, and those behind it wait for it. */
  #passHolds(method) {
    const hold = this.#held.find((each) => each.method === method);
    if (!hold) return null;
    return new Promise((resolve, reject) => {
      hold.waiting.push((exit) => (exit ? reject(exit) : resolve()));
    });
  }

  #perform(method, params) {
    if (method === 'subscribe') {
      this.#events = params.events;
      this.#queue.replay();
      return {};
    }
    if (method === 'unsubscribe') this.#events = [];
    const answer = this.#queue.perform(method, params) ?? {};
    if (method === 'enqueue') this.entries.push(structuredClone(params));
    if (method === 'enqueueAll') this.entries.push(...structuredClone(params.entries));
    if (method === 'ackEvents') this.#acknowledge(params.eventIds);
    if (method === 'releaseEvents') this.#release(params.eventIds);
    return answer;
  }

  #acknowledge(eventIds) {
    for (const eventId of eventIds) {
      this.ackedEventIds.push(eventId);
      this.#settling.get(eventId)?.done();
    }
  }

  #release(eventIds) {
    for (const eventId of eventIds) {
      this.releasedEventIds.push(eventId);
      this.#settling.get(eventId)?.fail('the client released it; its warnings tell why');
    }
  }

  #awaitAck({ eventId, id, group }) {
    const whose = id ?? `the group ${group}`;
    return new Promise((resolve, reject) => {
      const end = (step) => (why) => {
        clearTimeout(timer);
        this.#settling.delete(eventId);
        step(why);
      };
      const fail = end((why) => reject(new Error(`the outcome of ${whose} was not acknowledged: ${why}`)));
      const timer = setTimeout(() => fail(this.isSubscribed
        ? `nothing came within ${this.#ackTimeoutMs} ms`
        : 'nobody is subscribed, call configure()'), this.#ackTimeoutMs);
      this.#settling.set(eventId, { done: end(() => resolve()), fail });
    });
  }

  /** Events follow the answer of the call that caused them, as on the wire. */
  #emitLater(event, params) {
    this.#toEmit.push([event, params]);
    setImmediate(() => this.#flush());
  }

  #flush() {
    for (const [event, params] of this.#toEmit.splice(0)) this.#emit(event, params);
  }

  #emit(event, params) {
    if (!this.#events.includes(event === 'resync' ? 'state' : event)) return;
    if (event === 'settled' || event === 'groupSettled') this.#queue.sent(params);
    this.#ports.onEvent(event, structuredClone(params));
  }
}

/** See testing.d.ts. */
function createFakeSidecar(options) {
  return new FakeSidecar(options);
}

module.exports = { createFakeSidecar };
