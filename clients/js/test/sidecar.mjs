import { existsSync } from 'node:fs';
import http from 'node:http';
import { fileURLToPath } from 'node:url';

const BUILT = fileURLToPath(new URL('../../../.build/outtray', import.meta.url));

/** The real binary: what OUTTRAY names, else what scripts/build-release made. */
export const BINARY = process.env.OUTTRAY || BUILT;

/** For test(): skips where nothing was built; where OUTTRAY names a binary it has to be there. */
export const needsBinary = !process.env.OUTTRAY && !existsSync(BUILT)
  ? { skip: 'no binary: run scripts/build-release, or set OUTTRAY' } : {};

/** An HTTP server on loopback that keeps what it gets; `answer` says what it answers, else 201. */
export class Receiver {
  requests = [];
  answer = () => ({});
  /** A promise that every answer waits for. */
  gate = null;
  /** A promise that the reading of every body waits for. */
  reading = null;
  /** How many requests have begun to arrive. */
  begun = 0;

  static async start() {
    const receiver = new Receiver();
    receiver.server = http.createServer((request, response) => receiver.#take(request, response));
    await new Promise((resolve) => receiver.server.listen(0, '127.0.0.1', resolve));
    return receiver;
  }

  url(path = '/') {
    return `http://127.0.0.1:${this.server.address().port}${path}`;
  }

  stop() {
    this.server.close();
    this.server.closeAllConnections?.();
  }

  async #take(request, response) {
    const chunks = [];
    this.begun++;
    await this.reading;
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return; // The sidecar was stopped in the middle of it.
    }
    const { method, url, headers } = request;
    const seen = { method, url, headers, body: Buffer.concat(chunks) };
    this.requests.push(seen);
    await this.gate;
    const { status = 201, body = '{}', headers: fields = {} } = this.answer(seen);
    response.writeHead(status, { 'content-type': 'application/json', ...fields }).end(body);
  }
}

/** Waits until something holds, at most 20 s. */
export async function until(what, holds) {
  for (const end = Date.now() + 20_000; Date.now() < end;) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`waited in vain for ${what}`);
}
