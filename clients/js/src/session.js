'use strict';

const { Connection } = require('./connection.js');
const { ClientError, SpawnError } = require('./errors.js');
const { LIMITS, PROTOCOL_VERSION } = require('./protocol.js');
const { SidecarProcess } = require('./process.js');
const { name, version } = require('../package.json');

const START_MS = 30_000;

/** One sidecar process and the conversation with it, by the methods of the protocol. */
class Session {
  #process;
  #connection;
  #closing = null;
  #held = false;

  /** Starts `outtray serve --dir DIR` and greets it. See session.d.ts for the options. */
  static async open({ dir, args = [], startMs = START_MS, ...options } = {}) {
    if (typeof dir !== 'string' || dir === '') {
      throw new ClientError('E_INVALID', 'dir must be a non-empty string', { path: 'dir' });
    }
    const session = new Session();
    await session.#start({ ...options, args: ['serve', '--dir', dir, ...args] });
    await session.#greet(startMs);
    return session;
  }

  /** Calls a method; resolves with its `result`. */
  async call(method, params) {
    if (this.#closing) throw new ClientError('E_CLOSED', `${method}: the session is closed`);
    const answer = this.#connection.call(method, params);
    this.#updateHold();
    try {
      return await answer;
    } finally {
      this.#updateHold();
    }
  }

  /** Whether Node stays alive for this session while no call is in flight; false at first. */
  hold(wanted) {
    this.#held = wanted;
    this.#updateHold();
  }

  /** Sends a signal to the sidecar, as a crash test does. */
  kill(signal) {
    this.#process.kill(signal);
  }

  /** Resolves with SidecarExited once the sidecar is gone and reaped. */
  get exited() {
    return this.#process.exited;
  }

  /**
   * Ends the sidecar; accepted work is kept. Resolves with SidecarExited once the process is reaped, or with
   * null when it goes on for other hosts.
   */
  close(limits) {
    this.#closing ??= this.#end(this.#process.close(limits));
    return this.#closing;
  }

  /**
   * Ends stdin and lets a sidecar go on that may do so alone. Resolves with SidecarExited when it had nothing
   * to do and is reaped, else with null.
   */
  leave() {
    this.#closing ??= this.#end(this.#process.leave());
    return this.#closing;
  }

  async #end(ending) {
    const exit = await ending;
    this.#connection.fail(new ClientError('E_CLOSED', 'the session is closed'));
    return exit;
  }

  async #start({ onEvent = () => {}, onExit = () => {}, onNoise = () => {}, ...options }) {
    this.#connection = new Connection({
      send: (frame) => this.#process.write(frame),
      onNotification: onEvent,
      onNoise,
    });
    this.#process = await SidecarProcess.start({
      ...options,
      onBytes: (chunk) => this.#connection.receive(chunk),
      onExit: (exit) => {
        this.#connection.fail(exit);
        onExit(exit);
      },
    });
  }

  /** A greeting that fails, or is not answered in time, leaves no process behind. */
  async #greet(startMs) {
    let timer;
    const late = new Promise((resolve, reject) => {
      const message = `the sidecar did not answer within ${startMs} ms of its start`;
      timer = setTimeout(() => reject(new SpawnError('E_START_TIMEOUT', message)), startMs);
    });
    try {
      const client = { name: `${name}-js`, version };
      const greeting = this.call('initialize', { protocolVersion: PROTOCOL_VERSION, client });
      this.server = await Promise.race([greeting, late]);
      this.#connection.maxLine = this.server.limits?.maxLine ?? LIMITS.maxLine;
    } catch (error) {
      await this.close({ closeMs: 0 });
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  #updateHold() {
    this.#process.hold(this.#closing !== null || this.#held || this.#connection.pendingCount > 0);
  }
}

module.exports = { Session };
