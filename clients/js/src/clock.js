'use strict';

/**
 * Time as the client sees it, so that tests can hold it still.
 * @typedef {object} Clock
 * @property {() => number} now epoch milliseconds
 * @property {(ms: number, step: () => void) => () => void} later runs `step` after `ms`; gives its end
 * @property {() => Promise<void>} turn resolves after everything that is ready to run has run
 */

/** @type {Clock} */
const systemClock = {
  now: () => Date.now(),
  later(ms, step) {
    const timer = setTimeout(step, ms);
    // A wait is no reason to keep a program alive that is through otherwise.
    timer.unref?.();
    return () => clearTimeout(timer);
  },
  turn: () => new Promise((resolve) => setImmediate(resolve)),
};

module.exports = { systemClock };
