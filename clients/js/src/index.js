import { EventEmitter } from 'node:events';
import { Connection } from './connection.js';
import { ClientError } from './errors.js';
import { EventStream } from './event-stream.js';
import { SidecarProcess } from './process.js';

export { CallError, ClientError, SidecarExited, SpawnError } from './errors.js';

const PROTOCOL_VERSION = 1;
const CLIENT = { name: 'outtray-js', version: '0.1.0' };

/**
 * A session with one sidecar, by the methods of the protocol. Emits each event of the sidecar under its own
 * name with its params ('state', 'progress', 'attempt', 'settled', 'resync') and as 'event' with
 * `{method, params}`; 'exit' with a SidecarExited when the sidecar is gone; 'noise' with a line and a reason
 * when stdout held something that is no frame. It is also an async iterable of `{method, params}`.
 */
export class Outtray extends EventEmitter {
  #process;
  #connection;
  #subscribed = false;
  #closing = null;
  #streams = new Set();
  #exited = false;

  /** The answer to `initialize`: pid, dir, role, limits and so on. */
  server;

  /**
   * Starts `outtray serve --dir DIR` and greets it.
   * @param {object} options
   * @param {string} options.dir the queue's directory
   * @param {string} [options.binary] path of the executable; else OUTTRAY_BINARY, else PATH
   * @param {string[]} [options.args] more arguments of `serve`
   * @param {string} [options.cwd]
   * @param {NodeJS.ProcessEnv} [options.env]
   * @returns {Promise<Outtray>}
   */
  static async open({ dir, binary, args = [], cwd, env }) {
    if (typeof dir !== 'string' || dir === '') throw new TypeError('open: `dir` must be a non-empty string');
    const session = new Outtray();
    await session.#start({ args: ['serve', '--dir', dir, ...args], binary, cwd, env });
    return session;
  }

  /**
   * Calls a method. Rejects with CallError, with ClientError, or with SidecarExited when no answer can come.
   * @param {string} method
   * @param {object} [params]
   * @returns {Promise<any>} the `result`
   */
  async call(method, params) {
    if (this.#closing) throw new ClientError('E_CLOSED', `${method}: the session is closed`);
    const answer = this.#connection.call(method, params);
    this.#updateHold();
    try {
      const result = await answer;
      if (method === 'subscribe') this.#subscribed = true;
      if (method === 'unsubscribe') this.#subscribed = false;
      return result;
    } finally {
      this.#updateHold();
    }
  }

  /**
   * Sends a signal to the sidecar, as a crash test does.
   * @param {NodeJS.Signals} signal
   */
  kill(signal) {
    this.#process.kill(signal);
  }

  /** Resolves with SidecarExited once the sidecar is gone. */
  get exited() {
    return this.#process.exited;
  }

  /**
   * Ends the sidecar; accepted work is kept. Resolves once the process is reaped.
   * @param {{closeMs?: number, termMs?: number}} [limits] milliseconds for a gentle end, then for SIGTERM
   * @returns {Promise<import('./errors.js').SidecarExited>} how it ended
   */
  close(limits) {
    this.#closing ??= this.#process.close(limits);
    return this.#closing;
  }

  /**
   * Yields events from this moment on, and ends with the sidecar. What is not taken yet is kept, so a loop
   * should not stop taking; the sidecar itself bounds `settled` by the window.
   * @returns {AsyncIterableIterator<{method: string, params: any}>}
   */
  [Symbol.asyncIterator]() {
    const stream = new EventStream((left) => this.#streams.delete(left));
    if (this.#exited) stream.end();
    else this.#streams.add(stream);
    return stream;
  }

  async #start(options) {
    this.#connection = new Connection({
      send: (frame) => this.#process.write(frame),
      onNotification: (method, params) => this.#publish(method, params),
      onNoise: (line, why) => this.emit('noise', line, why),
    });
    this.#process = await SidecarProcess.start({
      ...options,
      onBytes: (chunk) => this.#connection.receive(chunk),
      onExit: (exit) => this.#ended(exit),
    });
    try {
      this.server = await this.call('initialize', { protocolVersion: PROTOCOL_VERSION, client: CLIENT });
      this.#connection.maxLine = this.server.limits.maxLine;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  #updateHold() {
    this.#process.hold(this.#closing !== null || this.#subscribed || this.#connection.pendingCount > 0);
  }

  #publish(method, params) {
    for (const stream of this.#streams) stream.push({ method, params });
    this.emit('event', { method, params });
    // 'error' would throw where nobody listens, 'exit' and 'noise' are ours.
    if (!['error', 'exit', 'noise', 'event'].includes(method)) this.emit(method, params);
  }

  #ended(exit) {
    this.#exited = true;
    this.#connection.fail(exit);
    for (const stream of this.#streams) stream.end();
    this.#streams.clear();
    this.emit('exit', exit);
  }
}

/** Same as `Outtray.open`. */
export const open = Outtray.open;
