'use strict';

const { invalid } = require('./shapes.js');

/** A value from an earlier answer: `{name}` in a text, `{"$bind": name}` in data. */
class BoundValue {
  #name;

  constructor(name) {
    this.#name = name;
  }

  toString() {
    return `{${this.#name}}`;
  }

  toJSON() {
    return { $bind: this.#name };
  }
}

/**
 * What `request` gets as its second argument.
 * @param {Record<string, object>} bind
 * @returns {Record<string, BoundValue>} reading a name that is not bound throws, or its text would be sent
 */
function boundOf(bind = {}) {
  const values = Object.create(null);
  for (const name of Object.keys(bind)) values[name] = new BoundValue(name);
  return new Proxy(Object.freeze(values), {
    get(target, name) {
      if (typeof name === 'string' && !(name in target)) {
        throw invalid(`bind.${name}`, 'is missing, and request uses it');
      }
      return target[name];
    },
  });
}

module.exports = { boundOf };
