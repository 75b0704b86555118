'use strict';

const { spawn } = require('node:child_process');
const { explainSpawnFailure, findBinary } = require('./binary.js');
const { SidecarExited } = require('./errors.js');
const { Tail } = require('./tail.js');

const STDERR_KEPT = 64 * 1024;
// After the exit its last frames may still lie in the pipe; something that inherited the pipe may also hold
// it open for ever, so the wait for the end of stdout is bounded.
const LAST_BYTES_MS = 500;
// The sidecar promises to end within 5 s of the end of its stdin.
const CLOSE_MS = 7000;
const TERM_MS = 3000;
// One that serves nobody else ends within milliseconds of its stdout.
const LET_GO_MS = 1500;
// One that has nothing to do in the background is gone so soon after its last answer.
const ALONE_MS = 200;

/** One child process of the sidecar: start it, write to it, hear what it says, see it end. */
class SidecarProcess {
  #child;
  #stderr = new Tail(STDERR_KEPT);
  #onExit;
  #read;
  #gone = false;

  /** Settles with SidecarExited once the process is reaped and its output is read. */
  exited;

  /**
   * Starts the sidecar. Resolves once it runs; rejects with SpawnError when it cannot.
   * @param {object} options
   * @param {string[]} options.args
   * @param {(chunk: Buffer) => void} options.onBytes gets what it writes to stdout
   * @param {(exit: SidecarExited) => void} options.onExit
   * @param {string} [options.binary]
   * @param {string} [options.cwd]
   * @param {NodeJS.ProcessEnv} [options.env] the whole environment of the child; default this process's
   * @param {boolean} [options.detached] in a session of its own, which no Ctrl-C and no hang-up of this
   *   process's terminal reaches
   * @returns {Promise<SidecarProcess>}
   */
  static async start({ args, onBytes, onExit, binary, cwd, env = process.env, detached = false }) {
    const { file, source } = findBinary(binary, env);
    const child = spawn(file, args, { cwd, env, detached, stdio: ['pipe', 'pipe', 'pipe'] });
    await new Promise((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', (error) => reject(explainSpawnFailure(error, { file, source, cwd })));
    });
    return new SidecarProcess(child, onBytes, onExit);
  }

  /** Use `start`. */
  constructor(child, onBytes, onExit) {
    this.#child = child;
    this.#onExit = onExit;
    child.stdout.on('data', onBytes);
    // Always drained: a full stderr pipe would stop the sidecar.
    child.stderr.on('data', (chunk) => this.#stderr.push(chunk));
    // A broken pipe is the first sign of a death whose reason only the exit tells; without a listener it
    // would end this process.
    child.stdin.on('error', () => {});
    child.on('error', () => {});
    this.#read = new Promise((resolve) => child.stdout.once('close', () => resolve(true)));
    this.exited = this.#watchExit();
    this.hold(false);
  }

  get pid() {
    return this.#child.pid;
  }

  /** @param {Buffer} frame */
  write(frame) {
    if (this.#child.stdin.writable) this.#child.stdin.write(frame);
  }

  /**
   * Says whether Node must stay alive for this child: yes while a call waits or events are expected.
   * @param {boolean} wanted
   */
  hold(wanted) {
    // A closed socket takes ref() as a wish for its next connection and keeps a listener for each.
    if (this.#gone) return;
    const { stdin, stdout, stderr } = this.#child;
    for (const part of [this.#child, stdin, stdout]) {
      if (part.destroyed) continue;
      // Bun's streams of a child have neither.
      if (wanted) part.ref?.();
      else part.unref?.();
    }
    stderr.unref?.();
  }

  /** @param {NodeJS.Signals} signal */
  kill(signal) {
    this.#child.kill(signal);
  }

  /**
   * Ends the sidecar and waits until it is reaped: the end of stdin, then SIGTERM, then SIGKILL. One that has
   * closed stdout after that end of stdin and goes on serves other hosts, and gets no signal.
   * @param {{closeMs?: number, termMs?: number}} [limits] how long the first two may take, in milliseconds
   * @returns {Promise<SidecarExited | null>} how it ended; null when it goes on
   */
  async close({ closeMs = CLOSE_MS, termMs = TERM_MS } = {}) {
    this.hold(true);
    const { stdin, stdout } = this.#child;
    // A stdout that ended unasked is a defect, and no sign that it has let us go.
    const asked = stdout.destroyed ? this.exited : Promise.race([this.#read, this.exited]);
    stdin.end();
    if (await within(closeMs, asked)) return (await within(LET_GO_MS, this.exited)) ?? this.#letGo();
    this.#child.kill('SIGTERM');
    const stopped = await within(termMs, this.exited);
    if (stopped) return stopped;
    this.#child.kill('SIGKILL');
    return this.exited;
  }

  /**
   * Ends stdin and lets a sidecar that was started with `--on-disconnect drain` or `stay` go on, without a
   * signal. It closes stdout once what it had read is answered.
   * @returns {Promise<SidecarExited | null>} how it ended; null when it goes on
   */
  async leave() {
    this.hold(true);
    this.#child.stdin.end();
    await within(CLOSE_MS, Promise.race([this.#read, this.exited]));
    return (await within(ALONE_MS, this.exited)) ?? this.#letGo();
  }

  /** Node reaps it if it ends before Node does. */
  #letGo() {
    this.hold(false);
    this.#gone = true;
    const { stdin, stdout, stderr } = this.#child;
    for (const pipe of [stdin, stdout, stderr]) pipe.destroy();
    return null;
  }

  #watchExit() {
    const child = this.#child;
    return new Promise((resolve) => {
      child.once('exit', async (exitCode, signal) => {
        await within(LAST_BYTES_MS, this.#read);
        const wasLetGo = this.#gone;
        this.#gone = true;
        child.stdout.destroy();
        const exit = new SidecarExited({ exitCode, signal, stderr: this.#stderr.toString() });
        // Whoever let it go may have another one by now.
        if (!wasLetGo) this.#onExit(exit);
        resolve(exit);
      });
    });
  }
}

/** What a promise resolves with; null once the time is over. */
async function within(ms, promise) {
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(resolve, ms, null);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

module.exports = { SidecarProcess };
