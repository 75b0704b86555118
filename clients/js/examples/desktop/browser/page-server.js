'use strict';

const { randomBytes } = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { pipeline } = require('node:stream');
const { COMMANDS } = require('../host/uploads.js');
const { Guard } = require('./guard.js');

const PAGE = path.join(__dirname, '..', 'page');
const TYPES = {
  '.html': 'text/html; charset=utf-8', '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml',
  '.mjs': 'text/javascript; charset=utf-8',
};
const MOST_ARGUMENT_BYTES = 64 * 1024;
/** A reader this far behind is cut off; it comes back and gets everything anew. */
const MOST_BEHIND = 4 * 1024 * 1024;

/** Serves the page, its commands and the stream of changes to a browser on this machine. */
class PageServer {
  #incoming;
  // A file may take as long as it takes; whoever may send one knows the secret.
  #server = http.createServer({ requestTimeout: 0 }, (request, response) => this.#serve(request, response));
  #guard;
  #uploads;
  #streams = new Set();

  /** @param {string} dir where files wait that a browser has sent, until the queue has them */
  constructor(dir) {
    this.#incoming = path.join(dir, 'incoming');
  }

  /** Resolves with the link that opens the page. Its secret is new at each start. */
  async start(uploads, port) {
    this.#uploads = uploads;
    // What lies here was left by a start that was killed before it was queued.
    fs.rmSync(this.#incoming, { recursive: true, force: true });
    fs.mkdirSync(this.#incoming, { recursive: true, mode: 0o700 });
    await new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, '127.0.0.1', resolve);
    });
    this.#guard = new Guard(this.#server.address().port, randomBytes(24).toString('hex'));
    return this.#guard.link;
  }

  stop() {
    for (const stream of this.#streams) stream.destroy();
    this.#server.close();
  }

  /** Hands a change to every page that is open. */
  tell(change) {
    for (const stream of this.#streams) this.#send(stream, 'change', change);
  }

  #send(stream, event, value) {
    // JSON has no line break, so one data line is enough.
    stream.write(`event: ${event}\ndata: ${JSON.stringify(value)}\n\n`);
    if (stream.writableLength > MOST_BEHIND) stream.destroy();
  }

  #serve(request, response) {
    const url = new URL(request.url, 'http://localhost');
    const asks = url.pathname.startsWith('/api/');
    this.#guard.protect(response);
    const refused = this.#guard.refusal(request, asks);
    if (refused) {
      request.resume();
      response.writeHead(403, { 'Content-Type': 'text/plain' }).end(`${refused}\n`);
    } else if (asks) {
      // A command that fails has been answered all the same.
      this.#answer(request, response, url).catch((error) => reply(response, 200, { error: error.message }));
    } else {
      this.#servePage(request, response, url.pathname === '/' ? '/index.html' : url.pathname);
    }
  }

  #servePage(request, response, name) {
    const type = TYPES[path.extname(name)];
    // Flat names alone: nothing leads out of the folder.
    if (request.method !== 'GET' || !type || !/^\/[\w-]+\.\w+$/.test(name)) {
      response.writeHead(404).end();
      return;
    }
    const stream = fs.createReadStream(path.join(PAGE, name));
    stream.once('error', () => response.writeHead(404).end());
    stream.once('open', () => {
      response.writeHead(200, { 'Content-Type': type });
      stream.pipe(response);
    });
  }

  async #answer(request, response, url) {
    const command = url.pathname.slice('/api/'.length);
    if (request.method === 'GET' && command === 'changes') {
      this.#stream(response);
    } else if (request.method === 'POST' && command === 'files') {
      reply(response, 200, { value: await this.#take(request, url.searchParams.get('name')) });
    } else if (request.method === 'POST' && COMMANDS.includes(command)) {
      const args = JSON.parse(await readText(request));
      reply(response, 200, { value: await this.#uploads[command](args) });
    } else {
      request.resume();
      reply(response, 404, { error: 'there is no such call' });
    }
  }

  #stream(response) {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    this.#send(response, 'snapshot', this.#uploads.snapshot());
    this.#streams.add(response);
    response.once('close', () => this.#streams.delete(response));
  }

  /** A browser does not say where a file lies, so its bytes come here, and move from here into the queue. */
  async #take(request, name) {
    if (!name) throw new Error('The file has no name.');
    const file = path.join(this.#incoming, randomBytes(12).toString('hex'));
    const length = Number(request.headers['content-length']);
    try {
      await new Promise((resolve, reject) => {
        const out = fs.createWriteStream(file, { flags: 'wx', mode: 0o600 });
        pipeline(request, out, (error) => (error ? reject(error) : resolve()));
      });
      if (fs.statSync(file).size !== length) throw new Error(`${name} did not arrive whole.`);
      return await this.#uploads.add({ file, name, ours: true });
    } finally {
      // The queue has taken the name away; it is still there when something failed.
      fs.rmSync(file, { force: true });
    }
  }
}

function reply(response, status, value) {
  if (response.headersSent) return;
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
}

async function readText(request) {
  if (!/^application\/json\b/.test(request.headers['content-type'] || '')) throw new Error('JSON is wanted');
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > MOST_ARGUMENT_BYTES) throw new Error('The arguments are too long.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

module.exports = { PageServer };
