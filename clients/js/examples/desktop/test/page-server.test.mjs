import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { PageServer } from '../browser/page-server.js';

let folder;
let page;
let port;
let secret;
const calls = [];
const uploads = {
  snapshot: () => ({ rows: [], settings: {} }),
  pause: async (args) => calls.push(args),
  retry: async () => {
    throw new Error('no such upload');
  },
  add: async ({ file, ...rest }) => {
    calls.push({ ...rest, content: readFileSync(file, 'utf8') });
    return { id: 'x' };
  },
};

before(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'outtray-desktop-'));
  page = new PageServer(folder);
  const link = await page.start(uploads, 0);
  [, port, secret] = /^http:\/\/127\.0\.0\.1:(\d+)\/#([0-9a-f]{48})$/.exec(link);
});
after(() => {
  page.stop();
  rmSync(folder, { recursive: true });
});

/** Asks as a browser never could: any header, any path. */
function ask(method, target, { headers = {}, body } = {}) {
  return new Promise((resolve, reject) => {
    const request = http.request({ port, host: '127.0.0.1', method, path: target, headers, agent: false });
    request.once('response', async (response) => {
      const chunks = [];
      for await (const chunk of response) chunks.push(chunk);
      const text = Buffer.concat(chunks).toString();
      resolve({ status: response.statusCode, headers: response.headers, text });
    });
    request.once('error', reject);
    request.end(body);
  });
}

const json = { 'Content-Type': 'application/json' };
const known = () => ({ ...json, Authorization: `Bearer ${secret}` });

test('the page is served with a policy that lets in no code but its own', async () => {
  const { status, headers, text } = await ask('GET', '/');
  assert.equal(status, 200);
  assert.match(text, /<title>Uploads/);
  const policy = headers['content-security-policy'];
  assert.match(policy, /default-src 'none'.*frame-ancestors 'none'/);
  assert.doesNotMatch(policy, /unsafe|\*|data:/);
  assert.equal(headers['x-content-type-options'], 'nosniff');
});

test('nothing outside the page is served', async () => {
  const outside = ['/../host/uploads.js', '/..%2fhost%2fuploads.js', '//etc/passwd', '/host/uploads.js'];
  const paths = [...outside, '/nothing.mjs'];
  for (const each of paths) assert.equal((await ask('GET', each)).status, 404, each);
});

test('a call needs the secret, whole and in its place', async () => {
  const wrong = ['', 'Bearer', `Basic ${secret}`, `Bearer ${secret}0`, `Bearer ${secret.slice(1)}`];
  for (const Authorization of wrong) {
    for (const call of ['GET /api/changes', 'POST /api/pause', 'POST /api/files?name=a']) {
      const answer = await ask(...call.split(' '), { headers: { ...json, Authorization }, body: '{}' });
      assert.equal(answer.status, 403, `${Authorization} ${call}`);
    }
  }
  assert.equal((await ask('POST', `/api/pause?secret=${secret}`, { headers: json, body: '{}' })).status, 403);
  assert.deepEqual(calls, []);
});

test('another site is refused, and so is another name for this machine', async () => {
  const others = [
    { Origin: 'https://example.com' }, { Origin: 'null' }, { Origin: `http://127.0.0.1:${Number(port) + 1}` },
    { Host: 'evil.example' }, { Host: `evil.example:${port}` }, { Host: '127.0.0.1' },
  ];
  for (const headers of others) {
    const answer = await ask('POST', '/api/pause', { headers: { ...known(), ...headers }, body: '{}' });
    assert.equal(answer.status, 403, JSON.stringify(headers));
    assert.equal(answer.headers['access-control-allow-origin'], undefined);
  }
  assert.deepEqual(calls, []);
});

test('a command is called by name; what it throws is the answer', async () => {
  const own = { ...known(), Origin: `http://127.0.0.1:${port}` };
  await ask('POST', '/api/pause', { headers: own, body: '{"kind":"video"}' });
  assert.deepEqual(calls.splice(0), [{ kind: 'video' }]);
  const failed = await ask('POST', '/api/retry', { headers: known(), body: '{}' });
  assert.deepEqual(JSON.parse(failed.text), { error: 'no such upload' });
  for (const name of ['add', 'leave', 'constructor', 'snapshot']) {
    assert.equal((await ask('POST', `/api/${name}`, { headers: known(), body: '{}' })).status, 404, name);
  }
  const form = { ...known(), 'Content-Type': 'text/plain' };
  assert.match((await ask('POST', '/api/pause', { headers: form, body: '{}' })).text, /JSON is wanted/);
  const body = JSON.stringify('x'.repeat(70_000));
  const long = await ask('POST', '/api/pause', { headers: known(), body });
  assert.match(long.text, /too long/);
  assert.deepEqual(calls, []);
});

test('a file arrives whole and is given on; nothing of it is left behind', async () => {
  const name = encodeURIComponent('../../a b\u202e.txt');
  const taken = await ask('POST', `/api/files?name=${name}`, { headers: known(), body: 'content' });
  assert.deepEqual(JSON.parse(taken.text), { value: { id: 'x' } });
  assert.deepEqual(calls.splice(0), [{ name: '../../a b\u202e.txt', ours: true, content: 'content' }]);
  assert.match((await ask('POST', '/api/files', { headers: known(), body: 'x' })).text, /no name/);
  assert.deepEqual(readdirSync(path.join(folder, 'incoming')), []);
});
