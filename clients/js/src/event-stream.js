'use strict';

const { LIMITS } = require('./protocol.js');

/**
 * An async iterator over events. For a reader that is slow it keeps the newest state and progress of each id
 * and the newest of each group, 1,024 of each kind, and the last 1,024 attempts; when states had to be
 * dropped, a `resync` stands for them.
 */
class EventStream {
  #waiting = new Map();
  #takers = [];
  #ended = false;
  #counts = { state: 0, progress: 0, attempt: 0, group: 0, resync: 0 };
  #serial = 0;
  #onChange;

  /** @param {(stream: EventStream) => void} onChange called when a reader begins or ends to wait */
  constructor(onChange) {
    this.#onChange = onChange;
  }

  /** Whether somebody waits for the next event. */
  get isAwaited() {
    return this.#takers.length > 0;
  }

  get isEnded() {
    return this.#ended;
  }

  push(event, detail) {
    if (this.#ended) return;
    const value = { event, detail };
    const take = this.#takers.shift();
    if (take) {
      take({ value, done: false });
      this.#onChange(this);
      return;
    }
    this.#keep(value);
  }

  /** Nothing comes after this; what waits can still be taken. */
  end() {
    this.#ended = true;
    for (const take of this.#takers.splice(0)) take({ value: undefined, done: true });
    this.#onChange(this);
  }

  next() {
    const [first] = this.#waiting;
    if (first) {
      this.#forget(first[0]);
      return Promise.resolve({ value: first[1], done: false });
    }
    if (this.#ended) return Promise.resolve({ value: undefined, done: true });
    const taken = new Promise((resolve) => this.#takers.push(resolve));
    this.#onChange(this);
    return taken;
  }

  return() {
    this.#waiting.clear();
    this.end();
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator]() {
    return this;
  }

  #keep(value) {
    const { event, detail } = value;
    const whose = event === 'attempt' ? this.#serial++ : detail?.id ?? detail?.group ?? '';
    const name = `${event} ${whose}`;
    if (this.#waiting.has(name)) this.#forget(name);
    this.#waiting.set(name, value);
    this.#counts[event] += 1;
    if (this.#counts[event] > LIMITS.mergedIds) this.#relieve(event);
  }

  #relieve(event) {
    const kept = [...this.#waiting.keys()].filter((name) => this.#waiting.get(name).event === event);
    for (const name of event === 'state' ? kept : kept.slice(0, 1)) this.#forget(name);
    if (event === 'state') this.#keep({ event: 'resync' });
  }

  #forget(name) {
    this.#counts[this.#waiting.get(name).event] -= 1;
    this.#waiting.delete(name);
  }
}

module.exports = { EventStream };
