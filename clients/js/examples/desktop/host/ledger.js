'use strict';

const fs = require('node:fs').promises;

/** How many finished uploads are remembered. */
const KEPT = 200;

/**
 * What the app itself has to remember, in one small file: the uploads that finished (the queue forgets an
 * entry once its outcome is acknowledged), why others failed, and what is paused.
 */
class Ledger {
  #file;
  #writing = null;
  #next = null;

  /** Uploads that finished, oldest first. */
  finished = [];
  /** By id, why an upload failed for good. */
  failures = {};
  paused = false;
  pausedKinds = [];

  /** Reads the file; one that is not there is an empty ledger, one that is damaged is put aside. */
  static async open(file) {
    const ledger = new Ledger();
    ledger.#file = file;
    const text = await fs.readFile(file, 'utf8').catch((error) => {
      if (error.code === 'ENOENT') return '{}';
      throw error;
    });
    try {
      const { finished = [], failures = {}, paused = false, pausedKinds = [] } = JSON.parse(text);
      Object.assign(ledger, { finished, failures, paused, pausedKinds });
    } catch (error) {
      await fs.rename(file, `${file}.damaged`);
    }
    return ledger;
  }

  /** An outcome may come twice; the later one counts. */
  addFinished(row) {
    delete this.failures[row.id];
    this.finished = [...this.finished.filter(({ id }) => id !== row.id), row].slice(-KEPT);
  }

  /**
   * Resolves once what the ledger holds now is on disk. Calls that come while one is being written share the
   * next write, so a hundred outcomes at once cost two.
   */
  save() {
    if (!this.#writing) {
      this.#writing = this.#write().finally(() => {
        this.#writing = null;
      });
      return this.#writing;
    }
    if (!this.#next) {
      const again = () => {
        this.#next = null;
        return this.save();
      };
      this.#next = this.#writing.then(again, again);
    }
    return this.#next;
  }

  async #write() {
    const { finished, failures, paused, pausedKinds } = this;
    const beside = `${this.#file}.new`;
    const handle = await fs.open(beside, 'w', 0o600);
    try {
      await handle.writeFile(JSON.stringify({ finished, failures, paused, pausedKinds }));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await fs.rename(beside, this.#file);
  }
}

module.exports = { Ledger, KEPT };
