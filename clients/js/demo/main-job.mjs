#!/usr/bin/env node
// The main job, for real: a file leaves this machine through the sidecar, and the sidecar is killed half-way.
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createUploadClient } from '../src/index.mjs';
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

/** A client of the queue in `dir`, and what comes of its upload: the only thing that this program sends. */
function openQueue(dir) {
  const made = { warned: withoutHurry(), outcome: withoutHurry() };
  made.client = createUploadClient({
    dir, binary: process.env.OUTTRAY, onWarning: (message) => made.warned.resolve(message),
  });
  made.upload = made.client.define({
    key: 'demo.file',
    request: ({ url, file }) => ({
      url, method: 'PUT', file, retry: { backoff: { baseMs: 200, maxMs: 1000, jitter: 0 } },
    }),
    onSuccess: (response, vars, meta) => made.outcome.resolve({ kind: 'completed', response, meta }),
    onError: ({ errorKind: kind, response }, vars, meta) => made.outcome.resolve({ kind, response, meta }),
  });
  return made;
}

/** A promise and what resolves it; it rejects after a minute. */
function withoutHurry() {
  const made = {};
  made.promise = new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('nothing happened within a minute')), PATIENCE_MS);
    late.unref();
    made.resolve = (value) => {
      clearTimeout(late);
      resolve(value);
    };
  });
  made.promise.catch(() => {});
  return made;
}

/** Shows progress until `enough` of it holds; gives the bytes sent by then. */
async function watch(client, enough) {
  const bar = new ProgressBar(process.stdout);
  try {
    for await (const { detail: { bytesSent, totalBytes } } of client.events('progress')) {
      bar.show(bytesSent, totalBytes);
      if (enough(bytesSent, totalBytes)) return bytesSent;
    }
    return 0;
  } finally {
    bar.end();
  }
}

/** Enqueues the upload, deletes the file as soon as it is accepted, and kills the sidecar past KILL_AT. */
async function uploadSomeOfIt({ client, upload, warned }, url, file) {
  const { server: { version }, pid } = await client.server();
  say(`outtray ${version}, process ${pid}; nginx behind a line of 80 MiB/s`);
  client.configure();
  const far = watch(client, (sent, total) => sent >= total * KILL_AT);
  const { disposition } = await upload.mutate({ url, file }, { id: ID });
  await rm(file);
  say(`accepted (${disposition}); the source file is deleted, the queue has its own copy`);
  const sent = await far;
  process.kill(pid, 'SIGKILL');
  say(`SIGKILL after ${sent} bytes (${Math.floor((sent / SIZE) * 100)} %)`);
  say(`warned: ${await warned.promise}`);
}

/** What the next start of the program does: the same definition, and the outcome comes to its handler. */
async function hearOutcome({ client, outcome }) {
  say('a new start on the same directory');
  client.configure();
  const rows = [];
  client.addListener('state', (row) => rows.push(row));
  watch(client, (sent, total) => sent === total);
  return { ...await outcome.promise, bytesSent: rows.find(({ state }) => state === 'completed')?.bytesSent };
}

/** Bodies go after the commit of the acknowledgement, so the last one may lie there for a moment. */
async function bodiesAfterAck(dir) {
  for (const end = Date.now() + 5000; ;) {
    const bodies = await bodiesIn(dir);
    if (bodies.length === 0 || Date.now() > end) return bodies;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The handler's acknowledgement follows its return, and forgets the entry. */
async function rowsAfterAck(client) {
  for (const end = Date.now() + 5000; ;) {
    const rows = await client.getRequests();
    if (rows.length === 0 || Date.now() > end) return rows;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The checks, each with what was found; the job is done when all of them hold. */
async function evidence({ outcome, rows, dir, nginx, stored }) {
  const bodies = await bodiesAfterAck(dir);
  const inDatabase = await databaseBytes(dir);
  const log = await nginx.log();
  const accepted = log.filter(({ status }) => status === '201').map(({ requestId }) => requestId);
  const acceptedOnce = accepted.length === 1 && accepted[0] === outcome.meta.requestId;
  return [
    ['outcome', outcome.kind, outcome.kind === 'completed'],
    ['status', outcome.response?.status, outcome.response?.status === 201],
    ['bytes received by nginx', stored.bytes, stored.bytes === SIZE],
    ['bytes sent, by its last state', outcome.bytesSent, outcome.bytesSent === SIZE],
    ['SHA-256 of the file', SHA256, true],
    ['SHA-256 of what nginx stored', stored.sha256, stored.sha256 === SHA256],
    ['attempts', outcome.meta.attempts, outcome.meta.attempts === 2],
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
  const first = openQueue(dir);
  opened.push(() => first.client.close());
  await uploadSomeOfIt(first, `http://127.0.0.1:${pacer.port}/known.bin`, file);

  const second = openQueue(dir);
  opened.push(() => second.client.close());
  const outcome = await hearOutcome(second);
  const rows = await rowsAfterAck(second.client);
  const stored = await hashOf(nginx.stored('known.bin'));
  const checks = await evidence({ outcome, rows, dir, nginx, stored });
  const { pid } = await second.client.server();
  await second.client.close();
  checks.push(['processes left after close', runs(pid) ? 1 : 0, !runs(pid)]);
  return checks;
}

function runs(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
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
