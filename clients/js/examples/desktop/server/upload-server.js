'use strict';

const { createHash, randomBytes } = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');

/** Name and password that it takes. */
const ACCOUNT = { name: 'demo', password: 'demo' };
const TICK_MS = 50;

/**
 * A server to upload to, for trying things: PUT /files/ID/NAME wants a bearer token, POST /session gives one.
 * It can be made slow, made to forget its tokens, and made to refuse files.
 */
class UploadServer {
  /** Bytes a second for each upload; 0 is no limit. */
  rate = 0;
  /** The status with which files are refused, or null. */
  refuseWith = null;
  /** By id: the name, size and SHA-256 of what is stored, and how often it came whole. */
  stored = new Map();
  #tokens = new Set();
  #folder;
  #server = http.createServer((request, response) => this.#serve(request, response));

  /** @param {string} folder where files are stored; must be there */
  constructor(folder) {
    this.#folder = folder;
  }

  async start(port = 0) {
    await new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  /** Every token is worthless from now on, for transfers that run as well. */
  expireTokens() {
    this.#tokens.clear();
  }

  #serve(request, response) {
    const [, room, id, name] = request.url.split('/');
    const handle = request.method === 'PUT' && room === 'files' && /^[\w-]{1,64}$/.test(id)
      ? this.#store(request, response, id, decodeURIComponent(name || ''))
      : this.#signIn(request, response, room);
    handle.catch((error) => {
      // The sender has gone, most often.
      console.error(`${request.method} ${request.url}: ${error.message}`);
      response.destroy();
    });
  }

  async #signIn(request, response, room) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    if (request.method !== 'POST' || room !== 'session') return send(response, 404, {});
    const { name, password } = JSON.parse(Buffer.concat(chunks).toString());
    if (name !== ACCOUNT.name || password !== ACCOUNT.password) return send(response, 401, {});
    const token = randomBytes(16).toString('hex');
    this.#tokens.add(token);
    return send(response, 201, { token });
  }

  #isSignedIn(request) {
    return this.#tokens.has((request.headers.authorization || '').replace(/^Bearer /, ''));
  }

  async #store(request, response, id, name) {
    const status = this.#isSignedIn(request) ? this.refuseWith : 401;
    if (status) {
      refuse(request, response, status);
      return;
    }
    const hash = createHash('sha256');
    const out = fs.createWriteStream(path.join(this.#folder, id));
    let size = 0;
    for await (const chunk of request) {
      // Checked on the way too, so that a token can run out in the middle of a file; the rest runs into the
      // void then, since leaving the loop would cut the connection before the answer is out.
      if (!response.headersSent && !this.#isSignedIn(request)) refuse(request, response, 401);
      if (response.headersSent) continue;
      hash.update(chunk);
      size += chunk.length;
      if (!out.write(chunk)) await new Promise((resolve) => out.once('drain', resolve));
      await this.#rest(chunk.length);
    }
    await new Promise((resolve) => out.end(resolve));
    if (response.headersSent) return;
    const times = (this.stored.get(id) || { times: 0 }).times + 1;
    this.stored.set(id, { name, size, sha256: hash.digest('hex'), times });
    send(response, 201, { size });
  }

  /** Takes as long as so many bytes take at this rate; a change of it counts at once. */
  async #rest(bytes) {
    let left = bytes;
    while (this.rate > 0 && left > 0) {
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
      left -= this.rate * TICK_MS / 1000;
    }
  }
}

/** Answers before the body has been read, and lets what is on its way run into the void. */
function refuse(request, response, status) {
  response.setHeader('Connection', 'close');
  send(response, status, {});
  request.resume();
}

function send(response, status, value) {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}

module.exports = { UploadServer, ACCOUNT };
