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
const [START, PIPELINE, WATCH, CHUNKS, FAKE] = [...README.matchAll(/^```js\n(.*?)^```$/gms)]
  .map(([, body]) => body);
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

/** Runs the example over the fake, by which each of its requests is answered in turn. */
function overFake(answers) {
  const made = "createUploadClient({ sidecar: globalThis.fake = createFakeSidecar() })";
  return `import { createFakeSidecar } from 'outtray/testing';\n`
    + PIPELINE.replace("createUploadClient({ dir: './queue' })", made)
    + answers.map(([id, body]) => `await fake.settle('${id}', { response: { body: '${body}' } });\n`).join('')
    + "console.log(JSON.stringify(fake.entries.map(({ id }) => id)));\n";
}

test('D45, D46, D48: the example of a pipeline runs in order, and is told of its end', async () => {
  const answers = [['7/photo', '{"id":5}'], ['7/observation', '{"id":12}'], ['7/attach', '{}']];
  const { status, output } = await run(overFake(answers));
  assert.equal(status, 0, output);
  assert.match(output, /^observation\/7 has the number 12$/m);
  assert.match(output, /^observation\/7 is through: 3 completed, 0 failed$/m);
  assert.match(output, /^100 %$/m);
});

test('D45, D46, D48: the example of a pipeline, with the real sidecar', needsBinary, async () => {
  const receiver = await Receiver.start();
  receiver.answer = ({ url }) => ({ body: JSON.stringify({ id: url === '/photos' ? 'a/b' : 12 }) });
  const { status, output } = await run(PIPELINE, { url: receiver.url('') });
  receiver.stop();
  assert.equal(status, 0, output);
  assert.match(output, /^observation\/7 is through: 3 completed, 0 failed$/m);
  const [photo, observation, attach] = receiver.requests.map(({ url, body }) => `${url} ${body}`);
  assert.deepEqual([photo, observation, attach], ['/photos {"caption":"a fox"}',
    '/observations {"note":"at dusk"}', '/observations/12/photos {"photo_id":"a/b"}']);
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
