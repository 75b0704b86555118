'use strict';

const { outcomeToHandler } = require('./handling.js');

const SLOW_MS = 30_000;
/** How many acknowledged outcomes are remembered, to drop those that were on their way meanwhile. */
const REMEMBERED = 10_000;
const KINDS = ['completed', 'error', 'cancelled'];

/**
 * Brings outcomes to the handlers of definitions: those of one id one at a time and in order, each after the
 * caller's own mutate. Acknowledges what a handler took, releases what none did.
 */
class Delivery {
  #definitions;
  #ports;
  #clock;
  #lanes = new Map();
  #mutates = new Map();
  /** Outcomes that wait in a lane, run, or are being acknowledged. */
  #inHand = new Set();
  /** Outcomes whose handler is through but whose acknowledgement failed. */
  #handled = new Set();
  #acknowledged = new Set();
  #malformed = new Set();
  #closed = false;

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
   * Holds back the outcomes of an id until its enqueue is answered and the caller has gone on.
   * @param {string} id
   * @param {Promise<unknown>} answer
   */
  track(id, answer) {
    const before = this.#mutates.get(id);
    const over = Promise.allSettled([before, answer]).then(() => this.#clock.turn()).then(() => {
      if (this.#mutates.get(id) === over) this.#mutates.delete(id);
    });
    this.#mutates.set(id, over);
  }

  /** Takes one outcome as it came from the sidecar. */
  receive(outcome) {
    if (this.#closed || !this.#isSound(outcome)) return;
    const { eventId, id, kind } = outcome;
    if (this.#inHand.has(eventId) || this.#acknowledged.has(eventId)) return;
    this.#inHand.add(eventId);
    if (kind === 'cancelled' || this.#handled.has(eventId)) {
      this.#run(`${eventId} acknowledge`, () => this.#acknowledge(outcome));
    } else if (!KINDS.includes(kind)) {
      this.#ports.warn(`an outcome of the unknown kind ${kind} is released`, outcome);
      this.#run(`${eventId} release`, () => this.#release(outcome));
    } else {
      this.#run(`id ${id}`, () => this.#deliver(outcome));
    }
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
  }

  #isSound(outcome) {
    const { eventId, id, key, kind } = outcome ?? {};
    const isText = (each) => typeof each === 'string' && each !== '';
    if (!isText(eventId)) {
      this.#ports.warn('an outcome without eventId is dropped', outcome);
      return false;
    }
    if (isText(id) && isText(key) && isText(kind)) return true;
    if (!this.#malformed.has(eventId)) {
      this.#ports.warn(`the outcome ${eventId} is malformed and dropped`, outcome);
    }
    remember(this.#malformed, eventId);
    return false;
  }

  async #deliver(outcome) {
    const { key, id, eventId } = outcome;
    await this.#mutates.get(id);
    if (this.#closed) return;
    const definition = this.#definitions.get(key);
    if (!definition) {
      this.#ports.warn(`no definition has the key ${key}; the outcome of ${id} waits for one`, outcome);
      this.#ports.onUnhandled(rowOf(outcome));
      await this.#release(outcome);
      return;
    }
    const watch = this.#clock.later(SLOW_MS, () => {
      this.#ports.warn(`the handler of ${key} for ${id} has taken ${SLOW_MS / 1000} s and goes on`, outcome);
    });
    try {
      await outcomeToHandler(definition, outcome);
    } catch (error) {
      const why = error?.message ?? error;
      this.#ports.warn(`the handler of ${key} for ${id} failed, its outcome is released: ${why}`, error);
      await this.#release(outcome);
      return;
    } finally {
      watch();
    }
    remember(this.#handled, eventId);
    await this.#acknowledge(outcome);
  }

  async #acknowledge({ eventId, id }) {
    try {
      await this.#ports.acknowledge(eventId);
      remember(this.#acknowledged, eventId);
      this.#handled.delete(eventId);
    } catch (error) {
      this.#ports.warn(`the outcome of ${id} could not be acknowledged: ${error.message}`, error);
    }
    this.#inHand.delete(eventId);
  }

  async #release({ eventId, id }) {
    // It may come back at once, when the release leads to a further subscribe.
    this.#inHand.delete(eventId);
    try {
      await this.#ports.release(eventId);
    } catch (error) {
      this.#ports.warn(`the outcome of ${id} could not be released: ${error.message}`, error);
    }
  }
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
