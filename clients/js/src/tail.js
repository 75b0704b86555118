'use strict';

/** Keeps the last bytes of a stream: at most `limit` of them, whatever passes through. */
class Tail {
  #chunks = [];
  #length = 0;
  #limit;

  /** @param {number} limit bytes */
  constructor(limit) {
    this.#limit = limit;
  }

  /** @param {Buffer} chunk */
  push(chunk) {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    while (this.#length - this.#chunks[0].length >= this.#limit) {
      this.#length -= this.#chunks.shift().length;
    }
  }

  toString() {
    return Buffer.concat(this.#chunks).subarray(-this.#limit).toString('utf8');
  }
}

module.exports = { Tail };
