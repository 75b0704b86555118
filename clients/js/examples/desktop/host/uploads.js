'use strict';

const { randomBytes } = require('node:crypto');
const fs = require('node:fs').promises;
const path = require('node:path');
const { createUploadClient } = require('outtray');
const { signIn } = require('./account.js');
const { KINDS, keyOf, kindOf, kindOfKey } = require('./kinds.js');
const { Ledger } = require('./ledger.js');
const { View } = require('./view.js');

const BACKOFF = { baseMs: 1000, maxMs: 60000, jitter: 0.2 };
/** More entries than this are never asked about at once. */
const MOST_REASONS = 100;
/** A sidecar that died is started by the next call; this is one, so that nobody has to wait for another. */
const PING_MS = 2000;
const SETTLED = ['completed', 'error', 'cancelled'];

/**
 * The host of the queue: everything the page can see and do, whether the page is shown by Electron or by a
 * browser. Each method in COMMANDS may be called by the page; what it throws is shown to the user.
 */
class Uploads {
  #client;
  #ledger;
  #view;
  #server;
  #definitions = new Map();
  #token = null;
  #name = null;
  #pinging;

  /**
   * @param {object} options
   * @param {string} options.dir where the queue and the ledger are kept; made when it is not there
   * @param {string} options.server URL of the server that takes the uploads
   * @param {string} [options.binary] path of the sidecar
   * @param {(change: import('./view.js').Change) => void} options.onChange
   * @param {(message: string) => void} [options.onWarning]
   */
  static async open({ dir, server, binary, onChange, onWarning = console.warn }) {
    const uploads = new Uploads();
    await fs.mkdir(dir, { recursive: true, mode: 0o700 });
    uploads.#server = server.replace(/\/+$/, '');
    uploads.#ledger = await Ledger.open(path.join(dir, 'ledger.json'));
    uploads.#view = new View(onChange);
    // The queue goes on when this process ends, whether its window was closed or it was killed.
    uploads.#client = createUploadClient({
      dir: path.join(dir, 'queue'), binary, background: true, onWarning,
    });
    await uploads.#start();
    const ping = () => uploads.#client.ping().catch((error) => onWarning(error.message));
    uploads.#pinging = setInterval(ping, PING_MS);
    return uploads;
  }

  async #start() {
    for (const kind of KINDS) this.#define(kind);
    this.#client.addListener('state', (row) => this.#show(row));
    this.#client.addListener('progress', (progress) => this.#view.move(progress));
    this.#client.addListener('attempt', (attempt) => this.#noteAttempt(attempt));
    for (const row of this.#ledger.finished) this.#view.set(row);
    // No call tells what is paused, so it is said again as it was.
    await this.#holdBack(this.#ledger.paused);
    for (const kind of KINDS) await this.#holdBack(this.#ledger.pausedKinds.includes(kind), kind);
    const rows = await this.#client.getRequests();
    for (const row of rows) this.#show(row);
    this.#forgetFailures(rows);
    // Behind the rows, so that what they settle with is newer than they are.
    await this.#client.configure({
      retry: { backoff: BACKOFF },
      headers: () => (this.#token ? { Authorization: `Bearer ${this.#token}` } : {}),
    });
  }

  /** What became of entries that somebody else has taken out of the queue meanwhile is of no use. */
  #forgetFailures(rows) {
    const there = new Set(rows.map(({ id }) => id));
    for (const id of Object.keys(this.#ledger.failures)) if (!there.has(id)) delete this.#ledger.failures[id];
  }

  #define(kind) {
    this.#definitions.set(kind, this.#client.define({
      key: keyOf(kind),
      request: ({ id, name, file, ours }) => ({
        url: `${this.#server}/files/${id}/${encodeURIComponent(name)}`,
        method: 'PUT',
        headers: { 'Content-Type': 'application/octet-stream' },
        file,
        // A file of the user stays where it is, one that was made for the queue goes into it without a copy.
        staging: ours ? 'move' : 'copy',
      }),
      onSuccess: (response, vars, meta) => this.#finish(vars, meta),
      onError: (error, vars, meta) => this.#fail(error, meta),
    }));
  }

  /** What the page shows when it opens. */
  snapshot() {
    return { rows: this.#view.rows, settings: this.#settings() };
  }

  #settings() {
    const { paused, pausedKinds } = this.#ledger;
    return { server: this.#server, signedIn: this.#name, paused, pausedKinds };
  }

  /**
   * Takes a file into the queue; resolves when it is safe there.
   * @param {{file: string, name?: string, ours?: boolean}} given `ours`: made for this, and to be moved
   */
  async add({ file, name = path.basename(file), ours = false }) {
    const { size } = await fs.stat(file);
    const id = randomBytes(12).toString('hex');
    const kind = kindOf(name);
    // A lone surrogate can stand neither in a URL nor in the queue.
    const vars = { id, name: Buffer.from(name).toString(), size, kind, file, ours, addedAt: Date.now() };
    await this.#definitions.get(kind).mutate(vars, { id });
    return { id };
  }

  async pause({ kind } = {}) {
    await this.#setPaused(true, kind);
  }

  async resume({ kind } = {}) {
    await this.#setPaused(false, kind);
  }

  async #setPaused(paused, kind) {
    if (kind !== undefined && !KINDS.includes(kind)) throw new Error(`There is no kind ${kind}.`);
    await this.#holdBack(paused, kind);
    const others = this.#ledger.pausedKinds.filter((each) => each !== kind);
    if (kind === undefined) this.#ledger.paused = paused;
    else this.#ledger.pausedKinds = paused ? [...others, kind] : others;
    this.#view.settings(this.#settings());
    await this.#ledger.save();
  }

  async #holdBack(paused, kind) {
    const scope = kind === undefined ? undefined : { keys: [keyOf(kind)] };
    await (paused ? this.#client.pause(scope) : this.#client.resume(scope));
  }

  /** Ends a live upload, forgets one that failed, takes a finished one out of the list. */
  async cancel({ id }) {
    await this.#client.cancel(id);
    delete this.#ledger.failures[id];
    this.#ledger.finished = this.#ledger.finished.filter((row) => row.id !== id);
    this.#view.remove(id);
    await this.#ledger.save();
  }

  /** One that failed runs again, one that waits out a failure is tried now. */
  async retry({ id }) {
    delete this.#ledger.failures[id];
    this.#show(await this.#client.retry(id));
    await this.#ledger.save();
  }

  async clearFinished() {
    for (const { id } of this.#ledger.finished) this.#view.remove(id);
    this.#ledger.finished = [];
    await this.#ledger.save();
  }

  /** Gets a token and gives it to what waits for one. */
  async signIn({ name, password }) {
    if (typeof name !== 'string' || typeof password !== 'string') {
      throw new Error('Name and password, please.');
    }
    this.#token = await signIn(this.#server, { name, password });
    this.#name = name;
    const origin = new URL(this.#server).origin;
    await this.#client.updateHeaders({ Authorization: `Bearer ${this.#token}` }, { origin });
    this.#view.settings(this.#settings());
  }

  /** Why entries wait, by id: for those that the page shows. */
  async reasons({ ids }) {
    const reasons = {};
    await Promise.all(ids.slice(0, MOST_REASONS).map(async (id) => {
      const state = (this.#view.get(id) || {}).state;
      if (!state || SETTLED.includes(state)) return;
      try {
        reasons[id] = (await this.#client.explain(id)).gates;
      } catch (error) {
        // It settled and was forgotten while the question was on its way.
        if (error.code !== 'E_INVALID') throw error;
      }
    }));
    return reasons;
  }

  /**
   * Ends this host. The queue finishes by itself what is left, so nothing is waited for then, as `close`
   * would for handlers that run: their outcomes come again.
   */
  async leave() {
    clearInterval(this.#pinging);
    await this.#ledger.save();
    if (this.#view.rows.every(({ state }) => SETTLED.includes(state))) await this.#client.close();
  }

  #show(row) {
    const { id, key, vars, state, bytesSent, totalBytes, attempts, updatedAt, nextAttemptAt } = row;
    const kind = kindOfKey(key);
    if (!kind) return;
    if (state === 'cancelled') {
      this.#view.remove(id);
      return;
    }
    // The queue's row of a finished upload goes with its acknowledgement; the ledger's stays.
    if (state === 'completed') return;
    const { failure } = this.#view.get(id) || {};
    this.#view.set({
      id, name: vars.name, kind, addedAt: vars.addedAt, state, sent: bytesSent, total: totalBytes,
      attempts, updatedAt, nextAttemptAt, failure: this.#ledger.failures[id] || failure,
    });
  }

  #noteAttempt({ id, outcome, errorMessage, errorKind, httpCode }) {
    const row = this.#view.get(id);
    if (!row || outcome === 'completed') return;
    this.#view.set({ ...row, failure: { message: errorMessage, errorKind, httpCode } });
  }

  /** The outcome is acknowledged once this has resolved, so the ledger is on disk by then. */
  async #finish({ name, kind, size, addedAt }, { id, at, attempts }) {
    const row = {
      id, name, kind, addedAt, state: 'completed', sent: size, total: size, attempts, updatedAt: at,
    };
    this.#ledger.addFinished(row);
    this.#view.set(row);
    await this.#ledger.save();
  }

  async #fail({ errorKind, message, response }, { id }) {
    const failure = { message, errorKind, httpCode: response && response.status };
    this.#ledger.failures[id] = failure;
    const row = this.#view.get(id);
    if (row) this.#view.set({ ...row, failure });
    await this.#ledger.save();
  }
}

/** What the page may call, by name. */
const COMMANDS = ['pause', 'resume', 'cancel', 'retry', 'clearFinished', 'signIn', 'reasons'];

module.exports = { Uploads, COMMANDS };
