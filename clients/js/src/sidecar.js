'use strict';

const { ClientError } = require('./errors.js');
const { Session } = require('./session.js');

const MOST_STARTS = 5;
const WITHIN_MS = 180_000;

/**
 * What a client speaks to: methods in, events out. The process is started by the first call, and after a
 * death by the next one. The fake of `outtray/testing` stands in the place of this class.
 *
 * @typedef {object} Ports what the client gives to `attach`
 * @property {(call: (method: string, params: any) => Promise<any>) => void} greet says on a new connection
 *   what it has to be told before any other call
 * @property {(event: string, params: any) => void} onEvent an event of the sidecar
 * @property {(exit: Error) => void} onExit the connection has ended without being closed
 * @property {(why: string, bytes: number) => void} onNoise a line came that is no frame
 */
class Sidecar {
  #options;
  #leaves;
  #ports;
  #clock;
  #open;
  #current = null;
  #session = null;
  #held = false;
  #starts = [];
  #closing = null;
  #lastExit;

  /**
   * @param {object} options those of `Session.open`, and `leaves`: whether the process goes on after `close`
   * @param {import('./clock.js').Clock} clock
   * @param {(options: object) => Promise<Session>} [open]
   */
  constructor({ leaves = false, ...options }, clock, open = Session.open) {
    this.#options = options;
    this.#leaves = leaves;
    this.#clock = clock;
    this.#open = open;
  }

  /** @param {Ports} ports */
  attach(ports) {
    this.#ports = ports;
  }

  /** Resolves once a process runs and is greeted, with its answer to `initialize`. */
  async ready() {
    return (await this.#ready()).server;
  }

  /**
   * Calls a method. One that the sidecar refused because it is ending is sent again to the next sidecar:
   * nothing was kept of it.
   */
  async call(method, params) {
    for (;;) {
      // All callers continue in the order of their calls, since they wait for the same promise.
      const session = await this.#ready();
      try {
        return await session.call(method, params);
      } catch (error) {
        if (error.code !== 'E_SHUTDOWN' || this.#closing) throw error;
        this.#replace(session);
      }
    }
  }

  /** Whether Node stays alive for the sidecar while no call is in flight. */
  hold(wanted) {
    this.#held = wanted;
    this.#session?.hold(wanted);
  }

  /** Ends the process that runs, or leaves it to its work in the background; starts no other. */
  async close(limits) {
    this.#closing ??= this.#end(limits);
    return this.#closing;
  }

  async #end(limits) {
    const session = await this.#current?.catch(() => null);
    await (this.#leaves ? session?.leave() : session?.close(limits));
  }

  #ready() {
    if (this.#closing) return Promise.reject(new ClientError('E_CLOSED', 'the client is closed'));
    if (this.#current === null) this.#become(this.#start());
    return this.#current;
  }

  /** A start that fails is told to those who wait for it; the next call tries again. */
  #become(starting) {
    this.#current = starting;
    starting.catch(() => {
      if (this.#current === starting) this.#current = null;
    });
  }

  async #start() {
    this.#limitStarts();
    const session = await this.#open({
      ...this.#options,
      detached: this.#leaves,
      onEvent: this.#ports.onEvent,
      onNoise: (line, why) => this.#ports.onNoise(why, line.length),
      onExit: (exit) => this.#ended(exit),
    });
    this.#starts.push(this.#clock.now());
    this.#session = session;
    session.hold(this.#held);
    this.#ports.greet((method, params) => session.call(method, params));
    return session;
  }

  #replace(session) {
    if (this.#session !== session) return;
    this.#session = null;
    this.#become(session.close().then(() => this.#start()));
  }

  #limitStarts() {
    const now = this.#clock.now();
    this.#starts = this.#starts.filter((at) => now - at < WITHIN_MS);
    if (this.#starts.length < MOST_STARTS) return;
    const message = `the sidecar ended ${MOST_STARTS} times within ${WITHIN_MS / 1000} s`;
    throw new ClientError('E_RESTARTS', message, { cause: this.#lastExit });
  }

  #ended(exit) {
    this.#lastExit = exit;
    // A process that ends before it is greeted is told by the call that wanted it.
    if (this.#session === null) return;
    this.#session = null;
    this.#current = null;
    if (!this.#closing) this.#ports.onExit(exit);
  }
}

module.exports = { Sidecar };
