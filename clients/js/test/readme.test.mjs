import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findRuntime } from './runtimes.mjs';
import { BINARY, Receiver, needsBinary } from './sidecar.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const README = readFileSync(path.join(ROOT, 'README.md'), 'utf8');
const [START, WATCH, CHUNKS, FAKE] = [...README.matchAll(/^```js\n(.*?)^```$/gms)].map(([, body]) => body);
let folder;

before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'outtray-readme-'));
  mkdirSync(path.join(folder, 'node_modules'));
  symlinkSync(ROOT, path.join(folder, 'node_modules', 'outtray'));
});
after(() => rmSync(folder, { recursive: true }));

/** Runs an example as it stands, or with another server in the place of the one it names. */
function run(text, { url, program = process.execPath } = {}) {
  const file = path.join(folder, 'example.mjs');
  writeFileSync(file, url ? text.replaceAll('https://api.example.com', url) : text);
  const env = { ...process.env, OUTTRAY_BINARY: BINARY, TOKEN: 't' };
  const child = spawn(program, [file], { cwd: folder, env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => {
    output += chunk;
  });
  const late = setTimeout(() => child.kill('SIGKILL'), 30_000);
  return new Promise((resolve) => {
    child.once('close', (status) => {
      clearTimeout(late);
      resolve({ status, output });
    });
  });
}

test('the quick start uploads, hears its outcome and ends by itself', needsBinary, async () => {
  const receiver = await Receiver.start();
  receiver.answer = () => ({ body: '{"version":3}' });
  const ended = await run(START, { url: receiver.url('') });
  receiver.stop();
  assert.deepEqual(ended, {
    status: 0, output: 'note-n-7 is safe on disk\nn-7 is stored as version 3, at attempt 1\n' });
  const [{ method, url, headers, body }] = receiver.requests;
  assert.deepEqual([method, url, headers.authorization, body.toString()],
    ['PUT', '/notes/n-7', 'Bearer t', '{"text":"hello"}']);
});

test('the example that watches, where its syntax is known, sees an upload', needsBinary, async (context) => {
  const program = findRuntime('node24');
  if (!program) return context.skip('no node24: scripts/install-runtimes');
  const receiver = await Receiver.start();
  const request = `() => ({ url: '${receiver.url('/')}', data: 'x'.repeat(100) })`;
  // Not awaited, so that its progress comes when the loop is there.
  const add = `uploads.define({ key: 'k', request: ${request} }).mutate();\n`;
  const { status, output } = await run(WATCH.replace('for await', `${add}for await`), { program });
  receiver.stop();
  assert.equal(status, 0, output);
  assert.match(output, /requests wait\n/);
  assert.match(output, /102 of 102/);
});

test('the examples of chunkPlan and of the fake run as they stand', async () => {
  assert.deepEqual(await run(CHUNKS), { status: 0, output: '2 { start: 0, end: 20971520 }\n' });
  assert.deepEqual(await run(FAKE), { status: 0, output: '' });
});

test('every file that the README names is there, and API.md is true to the declarations', () => {
  const places = /\]\((?!https?:|#)([^)#]+)\)|`((?:src|demo)\/[^`]*)`/g;
  const named = [...README.matchAll(places)].map(([, link, code]) => link ?? code);
  assert.ok(named.length > 10);
  assert.deepEqual(named.filter((name) => !existsSync(path.join(ROOT, name))), []);
  const check = spawnSync(process.execPath, [path.join(ROOT, 'scripts', 'api-reference.mjs'), '--check']);
  assert.equal(check.status, 0, String(check.stderr));
});
