#!/usr/bin/env node
// The main job, for real: a file leaves this machine through the sidecar, and the sidecar is killed half-way.
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { open } from '../src/index.js';
import { SHA256, SIZE, hashOf, writeKnownFile } from './known-file.mjs';
import { bodiesIn, databaseBytes } from './leftovers.mjs';
import { Nginx } from './nginx.mjs';
import { Pacer } from './pacer.mjs';
import { ProgressBar } from './progress-bar.mjs';

const ID = 'main-job';
const RATE = 80 * 2 ** 20;
const KILL_AT = 0.4;
const PATIENCE_MS = 60_000;

const say = (text) => process.stdout.write(`${text}\n`);

/**
 * Runs `step` and listens until a listener calls its second argument, to resolve, or its third, to reject.
 * Rejects as well when the sidecar dies first, and after a minute.
 */
function hearing(session, listeners, step) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => done(reject, new Error('nothing settled within a minute')), PATIENCE_MS);
    const done = (settle, value) => {
      clearTimeout(late);
      for (const [name, listener] of Object.entries(bound)) session.off(name, listener);
      settle(value);
    };
    const bound = { exit: (exit) => done(reject, exit) };
    for (const [name, listener] of Object.entries(listeners)) {
      bound[name] = (params) => {
        listener(params, (value) => done(resolve, value), (error) => done(reject, error));
      };
    }
    for (const [name, listener] of Object.entries(bound)) session.on(name, listener);
    step().catch((error) => done(reject, error));
  });
}

/** Enqueues the upload and returns once it is past KILL_AT; the file is deleted as soon as it is accepted. */
async function uploadSomeOfIt(session, url, file) {
  const bar = new ProgressBar(process.stdout);
  const request = { url, method: 'PUT', file, retry: { backoff: { baseMs: 200, maxMs: 1000, jitter: 0 } } };
  try {
    return await hearing(session, {
      progress: ({ bytesSent, totalBytes }, done) => {
        bar.show(bytesSent, totalBytes);
        if (bytesSent >= totalBytes * KILL_AT) done(bytesSent);
      },
      settled: ({ kind }, done, fail) => {
        fail(new Error(`the upload was over (${kind}) before it could be interrupted`));
      },
    }, async () => {
      await session.call('subscribe', { events: ['progress', 'settled'] });
      const { disposition } = await session.call('enqueue', { id: ID, key: 'demo.file', request });
      await rm(file);
      say(`accepted (${disposition}); the source file is deleted, the queue has its own copy`);
    });
  } finally {
    bar.end();
  }
}

/** Subscribes and waits for the outcome. */
async function awaitOutcome(session) {
  const bar = new ProgressBar(process.stdout);
  try {
    return await hearing(session, {
      progress: ({ bytesSent, totalBytes }) => bar.show(bytesSent, totalBytes),
      settled: (outcome, done) => done(outcome),
    }, () => session.call('subscribe', { events: ['progress', 'settled'] }));
  } finally {
    bar.end();
  }
}

/** Bodies go after the commit of the acknowledgement, so the last one may lie there for a moment. */
async function bodiesAfterAck(dir) {
  for (const end = Date.now() + 5000; ;) {
    const bodies = await bodiesIn(dir);
    if (bodies.length === 0 || Date.now() > end) return bodies;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The checks, each with what was found; the job is done when all of them hold. */
async function evidence({ outcome, rows, dir, nginx, stored }) {
  const bodies = await bodiesAfterAck(dir);
  const inDatabase = await databaseBytes(dir);
  const log = await nginx.log();
  const accepted = log.filter(({ status }) => status === '201').map(({ requestId }) => requestId);
  const acceptedOnce = accepted.length === 1 && accepted[0] === outcome.requestId;
  return [
    ['outcome', outcome.kind, outcome.kind === 'completed'],
    ['status', outcome.response?.status, outcome.response?.status === 201],
    ['bytes received by nginx', stored.bytes, stored.bytes === SIZE],
    ['bytes sent, by the outcome', outcome.bytesSent, outcome.bytesSent === SIZE],
    ['SHA-256 of the file', SHA256, true],
    ['SHA-256 of what nginx stored', stored.sha256, stored.sha256 === SHA256],
    ['attempts', outcome.attempts, outcome.attempts === 2],
    ['times nginx accepted it', accepted.length, acceptedOnce],
    ['entries left in the queue', rows.length, rows.length === 0],
    ['bodies left in the directory', bodies.length === 0 ? 0 : bodies.join(' '), bodies.length === 0],
    ['bytes of the database files', inDatabase, inDatabase < 2 ** 20],
  ];
}

async function run(folder, opened) {
  const file = path.join(folder, 'known.bin');
  const dir = path.join(folder, 'queue');
  const nginx = await Nginx.start(path.join(folder, 'nginx'));
  opened.push(() => nginx.stop());
  const pacer = await Pacer.start(nginx.port, RATE);
  opened.push(() => pacer.stop());

  say(`making a file of ${SIZE} bytes`);
  const made = await writeKnownFile(file);
  if (made !== SHA256) throw new Error(`the file has the SHA-256 ${made}, it should be ${SHA256}`);
  const binary = process.env.OUTTRAY ?? undefined;
  const first = await open({ dir, binary });
  opened.push(() => first.close());
  say(`outtray ${first.server.server.version}, process ${first.server.pid}; nginx behind a line of 80 MiB/s`);

  const sent = await uploadSomeOfIt(first, `http://127.0.0.1:${pacer.port}/known.bin`, file);
  first.kill('SIGKILL');
  const death = await first.exited;
  const share = Math.floor((sent / SIZE) * 100);
  say(`${death.signal} after ${sent} bytes (${share} %); starting again on the same directory`);

  const second = await open({ dir, binary });
  opened.push(() => second.close());
  const outcome = await awaitOutcome(second);
  await second.call('ackEvents', { eventIds: [outcome.eventId] });
  const { requests: rows } = await second.call('getRequests');
  const stored = await hashOf(nginx.stored('known.bin'));
  const checks = await evidence({ outcome, rows, dir, nginx, stored });
  const { exitCode } = await second.close();
  checks.push(['exit status after the end of stdin', exitCode, exitCode === 0]);
  return checks;
}

async function main() {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'outtray-demo-'));
  const opened = [];
  const cleanUp = async () => {
    for (const close of opened.splice(0).reverse()) await close();
    await rm(folder, { recursive: true, force: true });
  };
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.once(signal, () => cleanUp().finally(() => process.exit(1)));
  }
  try {
    const checks = await run(folder, opened);
    say('\nevidence');
    for (const [what, found, holds] of checks) {
      say(`  ${holds ? 'ok  ' : 'FAIL'} ${what.padEnd(36)} ${found}`);
    }
    const failed = checks.filter(([, , holds]) => !holds);
    say(failed.length === 0 ? '\nall of it holds' : `\nfailed: ${failed.map(([what]) => what).join(', ')}`);
    return failed.length === 0 ? 0 : 1;
  } catch (error) {
    say(`\nfailed: ${error.message}`);
    return 1;
  } finally {
    await cleanUp();
  }
}

process.exitCode = await main();
