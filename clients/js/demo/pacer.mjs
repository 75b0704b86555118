import net from 'node:net';

/**
 * A TCP pass-through that lets at most `rate` bytes a second through to `port`, as a slow line would: over
 * loopback an upload is over before anybody could see it, or kill it half-way.
 */
export class Pacer {
  #server;
  #sockets = new Set();
  #passed = 0;

  /**
   * @param {number} port where to pass the bytes on, on loopback
   * @param {number} rate bytes a second, of each connection
   * @returns {Promise<Pacer>}
   */
  static start(port, rate) {
    return new Promise((resolve, reject) => {
      const pacer = new Pacer();
      pacer.#server = net.createServer((from) => pacer.#pass(from, net.connect(port, '127.0.0.1'), rate));
      pacer.#server.once('error', reject);
      pacer.#server.listen(0, '127.0.0.1', () => resolve(pacer));
    });
  }

  get port() {
    return this.#server.address().port;
  }

  /** Bytes that went through to the server so far. */
  get passed() {
    return this.#passed;
  }

  stop() {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #pass(from, to, rate) {
    const started = Date.now();
    let taken = 0;
    from.on('data', (chunk) => {
      taken += chunk.length;
      this.#passed += chunk.length;
      const room = to.write(chunk);
      const early = (taken / rate) * 1000 - (Date.now() - started);
      if (room && early < 5) return;
      from.pause();
      const goOn = () => setTimeout(() => from.resume(), Math.max(0, early));
      if (room) goOn();
      else to.once('drain', goOn);
    });
    from.on('end', () => to.end());
    to.pipe(from);
    for (const [socket, other] of [[from, to], [to, from]]) {
      this.#sockets.add(socket);
      // Either side may vanish at any time, that is what is shown here; the other one then ends too.
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
  }
}
