import assert from 'node:assert/strict';
import { UploadClient } from '../src/client.js';
import { systemClock } from '../src/clock.js';
import { createFakeSidecar } from '../src/testing.mjs';

/** A clock that stands still until a test moves it. */
export class ManualClock {
  #now = 1_764_500_000_000;
  #timers = [];

  now = () => this.#now;

  turn = systemClock.turn;

  later = (ms, step) => {
    const timer = { at: this.#now + ms, step };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((each) => each !== timer);
    };
  };

  /** How many steps wait. */
  get waiting() {
    return this.#timers.length;
  }

  advance(ms) {
    this.#now += ms;
    const due = this.#timers.filter(({ at }) => at <= this.#now);
    this.#timers = this.#timers.filter(({ at }) => at > this.#now);
    for (const { step } of due) step();
  }
}

/** A client over the fake, with a manual clock and its warnings kept. */
export function makeClient({
  fake = createFakeSidecar({ ackTimeoutMs: 5000 }), clock = new ManualClock(),
} = {}) {
  const warnings = [];
  const details = [];
  const client = new UploadClient({
    sidecar: fake,
    clock,
    onWarning: (message, detail) => {
      warnings.push(message);
      details.push(detail);
    },
  });
  return { client, fake, clock, warnings, details };
}

/** Lets everything that is ready run: promises, and events that follow an answer. */
export async function quiet() {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A promise and what settles it. */
export function deferred() {
  const made = {};
  made.promise = new Promise((resolve, reject) => Object.assign(made, { resolve, reject }));
  return made;
}

/** For assert.rejects and assert.throws: an error with this code, and a message that fits. */
export const fails = (code, text = /./) => (error) => {
  assert.equal(error.code, code, String(error.stack));
  assert.match(error.message, text);
  return true;
};

export const URL_OF_TEST = 'https://api.test/notes';
