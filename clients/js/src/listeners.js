'use strict';

const { EventStream } = require('./event-stream.js');

const NAMES = ['state', 'progress', 'attempt', 'group', 'resync'];

/** Who hears events: listeners one by one, and readers of streams. */
class Listeners {
  #listeners = [];
  #streams = new Set();
  #warn;
  #onChange;

  /**
   * @param {(message: string, detail?: unknown) => void} warn
   * @param {() => void} onChange called when somebody begins or stops to wait for an event
   */
  constructor(warn, onChange) {
    this.#warn = warn;
    this.#onChange = onChange;
  }

  /** Whether a reader waits for the next event. */
  get isAwaited() {
    return [...this.#streams].some(({ stream }) => stream.isAwaited);
  }

  /** @returns {{remove(): void}} each call makes a listener of its own, also for the same function */
  add(name, listen) {
    requireName(name, 'addListener');
    if (typeof listen !== 'function') throw new TypeError('addListener: the listener must be a function');
    const entry = { name, listen };
    this.#listeners = [...this.#listeners, entry];
    return {
      remove: () => {
        this.#listeners = this.#listeners.filter((each) => each !== entry);
      },
    };
  }

  /** @param {string[]} names none is every event */
  stream(names) {
    for (const name of names) requireName(name, 'events');
    const stream = new EventStream((changed) => {
      if (changed.isEnded) this.#streams.delete(entry);
      this.#onChange();
    });
    const entry = { names: names.length === 0 ? NAMES : names, stream };
    this.#streams.add(entry);
    return stream;
  }

  /** @param {string} name an event that nobody knows reaches nobody */
  emit(name, detail) {
    for (const { names, stream } of this.#streams) {
      if (names.includes(name)) stream.push(name, detail);
    }
    for (const entry of this.#listeners) {
      if (entry.name === name) this.#tell(entry, detail);
    }
  }

  /** Whether anybody hears this event. */
  has(name) {
    return this.#listeners.some((each) => each.name === name)
      || [...this.#streams].some(({ names }) => names.includes(name));
  }

  /** Ends every stream. */
  end() {
    for (const { stream } of [...this.#streams]) stream.end();
  }

  #tell({ name, listen }, detail) {
    const complain = (error) => this.#warn(`a listener of ${name} failed: ${error?.message ?? error}`, error);
    try {
      const answer = detail === undefined ? listen() : listen(detail);
      if (typeof answer?.then === 'function') answer.then(undefined, complain);
    } catch (error) {
      complain(error);
    }
  }
}

function requireName(name, where) {
  if (!NAMES.includes(name)) {
    throw new TypeError(`${where}: no event is called ${String(name)}; there are ${NAMES.join(', ')}`);
  }
}

module.exports = { Listeners };
