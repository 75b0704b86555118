import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findRuntime } from './runtimes.mjs';
import { BINARY, Receiver, needsBinary } from './sidecar.mjs';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
// The test runner of Node 18.4 has no hooks, so these are the files without processes.
const UNITS = [
  'chunkplan', 'client', 'connection', 'conversations', 'define', 'delivery', 'descriptor', 'fake', 'frames',
  'handling'];
const runtimes = {
  node18: { run: [] }, node22: { run: [] }, node24: { run: [] },
  deno: { run: ['run', '--allow-all'] }, bun: { run: ['run'] },
};

/** Runs a program to its end, at most half a minute. */
function run(command, words) {
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'] });
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

for (const [name, { run: words }] of Object.entries(runtimes)) {
  const program = findRuntime(name);
  const skip = program ? needsBinary.skip : `no ${name}: scripts/install-runtimes`;
  // Bun's streams of a child keep a program alive until they are closed.
  for (const end of name === 'bun' ? ['close'] : ['close', 'idle']) {
    test(`in ${name}: define, mutate, handle, a killed sidecar, the end by ${end}`, { skip }, async () => {
      const dir = await mkdtemp(path.join(os.tmpdir(), 'outtray-js-'));
      const receiver = await Receiver.start();
      receiver.answer = ({ body }) => ({ body: `{"id":${10 * JSON.parse(body).n}}` });
      try {
        const smoke = path.join(FOLDER, 'smoke.mjs');
        const ended = await run(program, [...words, smoke, BINARY, dir, receiver.url(), end]);
        assert.deepEqual(ended, { status: 0, output: '1:10 2:20 1\n' });
      } finally {
        receiver.stop();
        await rm(dir, { recursive: true });
      }
    });
  }
  if (!name.startsWith('node')) continue;
  test(`in ${name}: the tests without processes`, { skip: program ? false : skip }, () => {
    const files = UNITS.map((unit) => path.join(FOLDER, `${unit}.test.mjs`));
    // What the test runner sets for its children would make this one silent.
    const { NODE_TEST_CONTEXT, ...env } = process.env;
    const { status, stdout, stderr } = spawnSync(program, ['--test', ...files], { env, encoding: 'utf8' });
    assert.equal(status, 0, stdout + stderr);
  });
}
