'use strict';

/** Changes are told at most so often; what came meanwhile goes together. */
const EVERY_MS = 100;

/** What the page shows, by id, and what of it has changed since the page was last told. */
class View {
  #rows = new Map();
  #changed = new Set();
  #gone = new Set();
  #moved = new Map();
  #settings = null;
  #timer = null;
  #tell;

  /** @param {(change: Change) => void} tell */
  constructor(tell) {
    this.#tell = tell;
  }

  get rows() {
    return [...this.#rows.values()];
  }

  get(id) {
    return this.#rows.get(id);
  }

  set(row) {
    this.#rows.set(row.id, row);
    this.#changed.add(row.id);
    this.#gone.delete(row.id);
    this.#later();
  }

  /** Progress is told apart from the rest, since it comes most often. */
  move({ id, bytesSent }) {
    const row = this.#rows.get(id);
    if (!row) return;
    row.sent = bytesSent;
    this.#moved.set(id, bytesSent);
    this.#later();
  }

  remove(id) {
    if (!this.#rows.delete(id)) return;
    this.#gone.add(id);
    this.#later();
  }

  settings(value) {
    this.#settings = value;
    this.#later();
  }

  #later() {
    if (!this.#timer) this.#timer = setTimeout(() => this.#flush(), EVERY_MS);
  }

  #flush() {
    this.#timer = null;
    const rows = [...this.#changed].map((id) => this.#rows.get(id)).filter(Boolean);
    const progress = [...this.#moved].filter(([id]) => this.#rows.has(id) && !this.#changed.has(id));
    const change = { rows, gone: [...this.#gone], progress, settings: this.#settings };
    this.#changed.clear();
    this.#gone.clear();
    this.#moved.clear();
    this.#settings = null;
    this.#tell(change);
  }
}

/**
 * @typedef {object} Change
 * @property {object[]} rows rows that are new or different
 * @property {string[]} gone ids of rows that are no more
 * @property {[string, number][]} progress bytes sent, by id
 * @property {object | null} settings when they are different
 */

module.exports = { View };
