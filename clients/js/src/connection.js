'use strict';

const { CallError, ClientError } = require('./errors.js');
const { textOf } = require('./json-text.js');
const { LIMITS } = require('./protocol.js');

const LF = 0x0a;

/**
 * The protocol without the process: bytes in, bytes out, and the table of calls that wait for an answer.
 * It does no I/O, so that every split of the stream can be tried in a test.
 */
class Connection {
  #send;
  #onNotification;
  #onNoise;
  #pending = new Map();
  #nextId = 1;
  #chunks = [];
  #closedBy = null;
  #decoder = new TextDecoder('utf-8', { fatal: true });

  /** Longest line in bytes that may be sent; `initialize` tells the sidecar's own limit. */
  maxLine = LIMITS.maxLine;

  /**
   * @param {object} ports
   * @param {(frame: Buffer) => void} ports.send takes one whole frame, its LF included
   * @param {(method: string, params: any) => void} ports.onNotification gets each event
   * @param {(line: Buffer, why: string) => void} ports.onNoise gets each line that is no frame for us
   */
  constructor({ send, onNotification, onNoise }) {
    this.#send = send;
    this.#onNotification = onNotification;
    this.#onNoise = onNoise;
  }

  /** How many calls wait for an answer. */
  get pendingCount() {
    return this.#pending.size;
  }

  /**
   * Sends one call. Resolves with its `result`; rejects with CallError, ClientError or what `fail` was given.
   * @param {string} method
   * @param {object | JSONText} [params]
   * @returns {Promise<any>}
   */
  async call(method, params = {}) {
    if (this.#closedBy) throw this.#closedBy;
    const id = this.#nextId++;
    const head = `{"jsonrpc":"2.0","id":${id},"method":${JSON.stringify(method)},"params":`;
    const frame = Buffer.from(`${head}${textOf(params)}}\n`);
    if (frame.length - 1 > this.maxLine) {
      const message = `${method}: a line of ${frame.length - 1} bytes; the sidecar reads ${this.maxLine}`;
      throw new ClientError('E_LINE_TOO_LONG', message);
    }
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { method, resolve, reject });
      this.#send(frame);
    });
  }

  /**
   * Takes the next bytes of the stream, however they are cut.
   * @param {Buffer} chunk
   */
  receive(chunk) {
    // Chunks are kept in a list and only the new one is searched: joining and searching from the start for
    // each chunk takes a time that grows with the square of a line's length.
    let start = 0;
    for (let end = chunk.indexOf(LF); end !== -1; end = chunk.indexOf(LF, start)) {
      const tail = chunk.subarray(start, end);
      const line = this.#chunks.length === 0 ? tail : Buffer.concat([...this.#chunks, tail]);
      this.#chunks = [];
      start = end + 1;
      this.#receiveLine(line);
    }
    if (start < chunk.length) this.#chunks.push(chunk.subarray(start));
  }

  /**
   * Ends the connection: all calls that wait, and all later ones, reject with `error`.
   * @param {Error} error
   */
  fail(error) {
    if (this.#closedBy) return;
    this.#closedBy = error;
    const waiting = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of waiting) reject(error);
  }

  #receiveLine(line) {
    let frame;
    try {
      frame = JSON.parse(this.#decoder.decode(line));
    } catch {
      if (!line.every(isBlank)) this.#onNoise(line, 'not a line of JSON');
      return;
    }
    if (frame === null || typeof frame !== 'object') {
      this.#onNoise(line, 'not a frame');
    } else if (typeof frame.method === 'string') {
      this.#onNotification(frame.method, frame.params === undefined ? {} : frame.params);
    } else if (this.#pending.has(frame.id)) {
      this.#settle(frame);
    } else {
      this.#onNoise(line, 'answers no call of ours');
    }
  }

  #settle({ id, result, error }) {
    const { method, resolve, reject } = this.#pending.get(id);
    this.#pending.delete(id);
    if (error) reject(new CallError(method, error));
    else resolve(result);
  }
}

const isBlank = (byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d;

module.exports = { Connection };
