'use strict';

const { outcomeToHandler } = require('./handling.js');

const SLOW_MS = 30_000;
/** How many acknowledged outcomes are remembered, to drop those that were on their way meanwhile. */
const REMEMBERED = 10_000;
const KINDS = ['completed', 'error', 'cancelled'];

/**
 * Brings outcomes to the handlers of definitions: those of one id one at a time and in order, each after the
 * caller's own mutate; and the outcome of a group to its handler, after those of its members. Acknowledges
 * what a handler took, releases what none did.
 */
class Delivery {
  #definitions;
  #ports;
  #clock;
  #lanes = new Map();
  /** By the name of a lane: the enqueues that are not answered yet. */
  #mutates = new Map();
  /** By group: outcomes of its members in hand. */
  #members = new Map();
  /** Outcomes that wait in a lane, run, or are being acknowledged. */
  #inHand = new Set();
  /** Outcomes whose handler is through but whose acknowledgement failed. */
  #handled = new Set();
  #acknowledged = new Set();
  #malformed = new Set();
  #closed = false;

  /** Takes the outcomes of groups. Without it they are acknowledged, else they would be kept for ever. */
  groupHandler = null;

  /**
   * @param {Map<string, object>} definitions by key; read anew for each outcome
   * @param {object} ports
   * @param {(eventId: string) => Promise<void>} ports.acknowledge
   * @param {(eventId: string) => Promise<void>} ports.release
   * @param {(row: object) => void} ports.onUnhandled gets a row for each outcome whose key is not defined
   * @param {(message: string, detail?: unknown) => void} ports.warn
   * @param {import('./clock.js').Clock} clock
   */
  constructor(definitions, ports, clock) {
    this.#definitions = definitions;
    this.#ports = ports;
    this.#clock = clock;
  }

  /**
   * Holds back the outcomes of an entry and of its group until its enqueue is answered and the caller has
   * gone on.
   * @param {{id: string, group?: string}} entry
   * @param {Promise<unknown>} answer
   */
  track({ id, group }, answer) {
    this.#holdBack(`id ${id}`, answer);
    if (group !== undefined) this.#holdBack(`group ${group}`, answer);
  }

  /** Whether an outcome of this group waits for its handler, runs, or is being acknowledged. */
  hasInHand(group) {
    return this.#lanes.has(`group ${group}`);
  }

  /** Takes one outcome as it came from the sidecar. */
  receive(outcome) {
    if (!this.#takes(outcome, ['id', 'key', 'kind'])) return;
    const { eventId, id, kind, group } = outcome;
    if (kind === 'cancelled' || this.#handled.has(eventId)) {
      this.#run(`${eventId} acknowledge`, () => this.#acknowledge(outcome));
    } else if (!KINDS.includes(kind)) {
      this.#ports.warn(`an outcome of the unknown kind ${kind} is released`, outcome);
      this.#run(`${eventId} release`, () => this.#release(outcome));
    } else {
      const work = this.#run(`id ${id}`, () => this.#deliver(outcome));
      if (group !== undefined) this.#keepMember(group, work);
    }
  }

  /** Takes the outcome of a group as it came from the sidecar. */
  receiveGroup(outcome) {
    if (!this.#takes(outcome, ['group'])) return;
    const { eventId, group } = outcome;
    if (this.#handled.has(eventId)) {
      this.#run(`${eventId} acknowledge`, () => this.#acknowledge(outcome));
      return;
    }
    const members = [...this.#members.get(group) ?? []];
    this.#run(`group ${group}`, () => this.#deliverGroup(outcome, members));
  }

  /** Starts no handler from now on; resolves once those that run are through and acknowledged. */
  async close() {
    this.#closed = true;
    await Promise.all(this.#lanes.values());
  }

  #run(lane, step) {
    const work = (this.#lanes.get(lane) ?? Promise.resolve()).then(step).then(() => {
      if (this.#lanes.get(lane) === work) this.#lanes.delete(lane);
    });
    this.#lanes.set(lane, work);
    return work;
  }

  #holdBack(lane, answer) {
    const before = this.#mutates.get(lane);
    const over = Promise.allSettled([before, answer]).then(() => this.#clock.turn()).then(() => {
      if (this.#mutates.get(lane) === over) this.#mutates.delete(lane);
    });
    this.#mutates.set(lane, over);
  }

  #keepMember(group, work) {
    const works = this.#members.get(group) ?? new Set();
    this.#members.set(group, works.add(work));
    work.then(() => {
      works.delete(work);
      if (works.size === 0 && this.#members.get(group) === works) this.#members.delete(group);
    });
  }

  /** Whether an outcome has these texts, and neither is in hand nor was acknowledged; it is in hand then. */
  #takes(outcome, names) {
    if (this.#closed || !this.#isSound(outcome, names)) return false;
    const { eventId } = outcome;
    if (this.#inHand.has(eventId) || this.#acknowledged.has(eventId)) return false;
    this.#inHand.add(eventId);
    return true;
  }

  #isSound(outcome, names) {
    const { eventId } = outcome ?? {};
    const isText = (each) => typeof each === 'string' && each !== '';
    if (!isText(eventId)) {
      this.#ports.warn('an outcome without eventId is dropped', outcome);
      return false;
    }
    if (names.every((name) => isText(outcome[name]))) return true;
    if (!this.#malformed.has(eventId)) {
      this.#ports.warn(`the outcome ${eventId} is malformed and dropped`, outcome);
    }
    remember(this.#malformed, eventId);
    return false;
  }

  async #deliver(outcome) {
    const { key, id } = outcome;
    await this.#mutates.get(`id ${id}`);
    if (this.#closed) return;
    const definition = this.#definitions.get(key);
    if (!definition) {
      this.#ports.warn(`no definition has the key ${key}; the outcome of ${id} waits for one`, outcome);
      this.#ports.onUnhandled(rowOf(outcome));
      await this.#release(outcome);
      return;
    }
    const handler = `the handler of ${key} for ${id}`;
    await this.#handle(outcome, handler, () => outcomeToHandler(definition, outcome));
  }

  async #deliverGroup(outcome, members) {
    const { eventId, ...told } = outcome;
    await Promise.all([...members, this.#mutates.get(`group ${told.group}`)]);
    if (this.#closed) return;
    if (!this.groupHandler) {
      await this.#acknowledge(outcome);
      return;
    }
    await this.#handle(outcome, `the handler of the group ${told.group}`, () => this.groupHandler(told));
  }

  async #handle(outcome, handler, call) {
    const watch = this.#clock.later(SLOW_MS, () => {
      this.#ports.warn(`${handler} has taken ${SLOW_MS / 1000} s and goes on`, outcome);
    });
    try {
      await call();
    } catch (error) {
      this.#ports.warn(`${handler} failed, its outcome is released: ${error?.message ?? error}`, error);
      await this.#release(outcome);
      return;
    } finally {
      watch();
    }
    remember(this.#handled, outcome.eventId);
    await this.#acknowledge(outcome);
  }

  async #acknowledge({ eventId, ...outcome }) {
    try {
      await this.#ports.acknowledge(eventId);
      remember(this.#acknowledged, eventId);
      this.#handled.delete(eventId);
    } catch (error) {
      this.#ports.warn(`the outcome of ${whose(outcome)} could not be acknowledged: ${error.message}`, error);
    }
    this.#inHand.delete(eventId);
  }

  async #release({ eventId, ...outcome }) {
    // It may come back at once, when the release leads to a further subscribe.
    this.#inHand.delete(eventId);
    try {
      await this.#ports.release(eventId);
    } catch (error) {
      this.#ports.warn(`the outcome of ${whose(outcome)} could not be released: ${error.message}`, error);
    }
  }
}

function whose({ id, group }) {
  return id ?? `the group ${group}`;
}

function remember(set, eventId) {
  set.add(eventId);
  if (set.size > REMEMBERED) set.delete(set.values().next().value);
}

function rowOf({ id, key, vars, state, bytesSent, totalBytes, attempts, at }) {
  return {
    id, key, vars, state, bytesSent: bytesSent ?? 0, totalBytes: totalBytes ?? 0, attempts, updatedAt: at,
    reason: 'unhandled-key',
  };
}

module.exports = { Delivery };
