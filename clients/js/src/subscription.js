'use strict';

const EVENTS = ['state', 'progress', 'attempt', 'settled', 'groupSettled'];
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;

/** A client's subscription: made once it is wanted, on each new connection, and again after a failure. */
class Subscription {
  #clock;
  #warn;
  #wanted = false;
  #onConnection = false;
  #waitMs = FIRST_WAIT_MS;
  #events = [...EVENTS];
  #callOff = () => {};

  /**
   * @param {import('./clock.js').Clock} clock
   * @param {(message: string, detail?: unknown) => void} warn
   */
  constructor(clock, warn) {
    this.#clock = clock;
    this.#warn = warn;
  }

  /** Whether outcomes are asked for at all. */
  get isWanted() {
    return this.#wanted;
  }

  want() {
    this.#wanted = true;
  }

  /** Asks for an event beside the usual ones, from the next subscription on. */
  include(event, call) {
    if (this.#events.includes(event)) return;
    this.#events.push(event);
    if (!this.#onConnection) return;
    this.#onConnection = false;
    this.ensure(call);
  }

  /** A new connection has no subscription yet. */
  reset() {
    this.#onConnection = false;
    this.#callOff();
  }

  /** Subscribes where that is wanted and not done. A failure is a warning, and is tried again. */
  async ensure(call) {
    if (!this.#wanted || this.#onConnection) return;
    this.#onConnection = true;
    try {
      await this.renew(call);
      this.#waitMs = FIRST_WAIT_MS;
    } catch (error) {
      // The next connection subscribes by itself.
      if (error.code === 'E_SIDECAR_EXITED' || error.code === 'E_CLOSED') return;
      this.#onConnection = false;
      this.#warn(`the subscription failed and is tried again: ${error.message}`, error);
      this.#callOff = this.#clock.later(this.#waitMs, () => this.ensure(call));
      this.#waitMs = Math.min(this.#waitMs * 2, LONGEST_WAIT_MS);
    }
  }

  /** Subscribes anew, which brings back what was released. */
  async renew(call) {
    await call('subscribe', { events: [...this.#events] });
  }
}

module.exports = { Subscription };
