import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { createUploadClient } from '../src/index.mjs';
import { ROOT, folder, handled, receiver, sha, withClient } from './real.mjs';
import { deferred, fails } from './rig.mjs';
import { BINARY, needsBinary, until } from './sidecar.mjs';

test('B95, A-RPC-05: from mutate to a real server and back to the handler', needsBinary, () => withClient(
  async ({ client, note, outcomes, warnings }) => {
    receiver.answer = () => ({ body: '{"id":7}' });
    await client.configure({ headers: () => ({ Authorization: 'Bearer t' }) });
    const data = { text: 'a\u2028b 😀 \u0000', tag: null, n: Number.MAX_SAFE_INTEGER };
    const { id, disposition } = await note.mutate({ local: null, request: { data } });
    await handled(outcomes, 1);
    const [parsed, vars, meta] = outcomes[0];
    assert.deepEqual([disposition, parsed, vars, meta.id, meta.attempts, meta.deliveries],
      ['created', { id: 7 }, { local: null, request: { data } }, id, 1, 1]);
    const [seen] = receiver.requests;
    assert.deepEqual([seen.method, seen.headers.authorization, seen.headers['x-request-id']],
      ['POST', 'Bearer t', meta.requestId]);
    assert.equal(seen.body.toString(), JSON.stringify(data));
    await until('no rows', async () => (await client.getRequests()).length === 0);
    assert.deepEqual(warnings, []);
  }, { response: (raw) => raw }));

test('A-RPC-06: a line of 8 MB passes both ways, and so does the next call', needsBinary, () => withClient(
  async ({ client, note }) => {
    await client.configure({ maxVarsBytes: 2 ** 23 });
    await client.pause();
    const vars = { text: 'ü'.repeat(4_000_000) };
    await note.mutate(vars, { id: 'long' });
    const [row] = await client.getRequests({ id: 'long' });
    assert.equal(row.vars.text, vars.text);
    assert.equal(typeof (await client.ping()).now, 'number');
  }));

test('five thousand calls in flight are all answered', needsBinary, () => withClient(
  async ({ client, note }) => {
    await client.pause();
    const pings = Array.from({ length: 5000 }, () => client.ping());
    const notes = Array.from({ length: 200 }, (_, index) => note.mutate(null, { id: `n${index}` }));
    assert.equal((await Promise.all([...pings, ...notes])).length, 5200);
  }));

test('D41: getRequests reads all pages, each row once, in order of creation', needsBinary, () => withClient(
  async ({ client, note }) => {
    await client.pause();
    const ids = Array.from({ length: 2300 }, (_, index) => `n${index}`);
    await Promise.all(ids.map((id) => note.mutate(null, { id })));
    const rows = await client.getRequests({ state: 'paused' });
    assert.equal(rows.length, 2300);
    assert.deepEqual(new Set(rows.map(({ id }) => id)), new Set(ids));
  }));

test('a sidecar that is killed: what was accepted is there; the same id makes no second entry', needsBinary,
  () => withClient(async ({ client, note, warnings, outcomes }) => {
    await client.configure();
    await client.pause();
    await note.mutate(null, { id: 'a' });
    const { pid } = await client.server();
    process.kill(pid, 'SIGKILL');
    await until('the warning', () => warnings.length === 1);
    assert.match(warnings[0], /SIGKILL/);
    const again = await note.mutate(null, { id: 'a' });
    assert.equal(again.disposition, 'resumed');
    assert.notEqual((await client.server()).pid, pid);
    assert.deepEqual((await client.getRequests()).map(({ id }) => id), ['a']);
    await client.resume();
    await handled(outcomes, 1);
    assert.equal(receiver.requests.length, 1);
  }));

test('B97, A-DELIV-04: what settled while no handler was there comes at configure, deliveries 1', needsBinary,
  () => withClient(async ({ client, note, outcomes, dir }) => {
    await note.mutate({ n: 1 }, { id: 'a' });
    await until('completion', async () => (await client.getRequests())[0].state === 'completed');
    await client.close();
    const next = createUploadClient({ dir, binary: BINARY });
    next.define({ key: 'note', request: () => ({}), onSuccess: (...given) => outcomes.push(given) });
    await next.configure();
    await handled(outcomes, 1);
    assert.deepEqual([outcomes[0][1], outcomes[0][2].deliveries], [{ n: 1 }, 1]);
    await next.close();
  }));

test('D40, D8: a failed handler runs again after redeliver and after a mutate', needsBinary, () => {
  const seen = [];
  let works = false;
  return withClient(async ({ client, note, warnings }) => {
    await client.configure();
    await note.mutate(null, { id: 'a' });
    await until('the first try', () => warnings.length === 1);
    await client.redeliver();
    await until('the second try', () => warnings.length === 2);
    works = true;
    assert.equal((await note.mutate(null, { id: 'a' })).disposition, 'redelivered');
    await until('the third try', () => seen.length === 3);
    assert.deepEqual(seen, [1, 2, 3]);
    assert.equal(receiver.requests.length, 1);
    await until('no rows', async () => (await client.getRequests()).length === 0);
  }, {
    onSuccess: (response, vars, { deliveries }) => {
      seen.push(deliveries);
      if (!works) throw new Error('not yet');
    },
  });
});

test('a file goes out as it is; a missing one is refused with its place', needsBinary, () => withClient(
  async ({ client, note, outcomes }) => {
    const file = path.join(folder, 'body ü.bin');
    const bytes = randomBytes(3_000_000);
    await writeFile(file, bytes);
    await client.configure();
    await note.mutate({ request: { file, method: 'PUT' } });
    await rm(file);
    await handled(outcomes, 1);
    assert.equal(sha(receiver.requests[0].body), sha(bytes));
    await assert.rejects(note.mutate({ request: { file } }), (error) => {
      fails('E_FILE_MISSING')(error);
      assert.match(error.path, /file$/);
      return true;
    });
  }));

test('B251: an entry that parked on 401 goes on with fresh headers', needsBinary, () => withClient(
  async ({ client, note, outcomes }) => {
    receiver.answer = ({ headers }) => ({ status: headers.authorization === 'new' ? 201 : 401 });
    const parked = deferred();
    client.addListener('state', ({ state }) => state === 'awaiting-auth' && parked.resolve());
    await client.configure({ headers: () => ({ Authorization: 'old' }) });
    await note.mutate();
    await parked.promise;
    await client.updateHeaders({ authorization: 'new' });
    await handled(outcomes, 1);
    assert.equal(receiver.requests.length, 2);
  }));

test('B77: a final answer goes to onError with its response; the row stays until cancel', needsBinary,
  () => withClient(async ({ client, note, outcomes }) => {
    receiver.answer = () => ({ status: 400, body: '{"why":"no"}' });
    await client.configure();
    await note.mutate(null, { id: 'a' });
    await handled(outcomes, 1);
    const [error] = outcomes[0];
    const { status, body } = error.response;
    assert.deepEqual([error.errorKind, status, body], ['http', 400, '{"why":"no"}']);
    assert.deepEqual((await client.getRequests()).map(({ state }) => state), ['error']);
    await client.cancel('a');
    assert.deepEqual(await client.getRequests(), []);
  }));

test('D31: an answer that is no text is unknown to a parser', needsBinary, () => withClient(
  async ({ client, note, outcomes }) => {
    receiver.answer = () => ({ body: Buffer.from([0xff, 0xfe]) });
    await client.configure();
    await note.mutate();
    await handled(outcomes, 1);
    assert.deepEqual([outcomes[0][0].errorKind, outcomes[0][0].response.bodyBase64], ['unknown', '//4=']);
  }, { response: (raw) => raw }));

test('D26: parts go out by their ranges, and one outcome tells of all of them', needsBinary,
  () => withClient(async ({ client, note, outcomes }) => {
    const file = path.join(folder, 'parts.bin');
    const bytes = randomBytes(1000);
    await writeFile(file, bytes);
    const parts = client.chunkPlan(1000, { min: 100, max: 300 }).map((range, index) => ({
      url: receiver.url(`/part/${index}`), range }));
    await client.configure();
    await note.mutate({ request: { url: undefined, method: 'PUT', file, parts } });
    await handled(outcomes, 1);
    const sent = receiver.requests.sort((a, b) => a.url.localeCompare(b.url)).map(({ body }) => body);
    assert.equal(sha(Buffer.concat(sent)), sha(bytes));
  }));

test('examples/watch-folder.mjs uploads what appears in a folder, until SIGTERM', needsBinary, async () => {
  const app = path.join(folder, 'app');
  const watched = path.join(app, 'inbox');
  await mkdir(path.join(app, 'node_modules'), { recursive: true });
  await mkdir(watched);
  await symlink(ROOT, path.join(app, 'node_modules', 'outtray'));
  const script = path.join(app, 'watch-folder.mjs');
  await writeFile(script, await readFile(path.join(ROOT, 'examples', 'watch-folder.mjs')));
  receiver.answer = ({ url }) => ({ status: url.endsWith('/bad') ? 422 : 201 });
  const env = { ...process.env, OUTTRAY_BINARY: BINARY };
  await writeFile(path.join(watched, 'früh.txt'), 'there before');
  const service = spawn(process.execPath, [script, watched, receiver.url('/in'), path.join(app, 'queue')],
    { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [service.stdout, service.stderr]) stream.on('data', (chunk) => {
    output += chunk;
  });
  try {
    await until('the first upload', () => receiver.requests.length === 1);
    await writeFile(path.join(watched, 'bad'), 'refused');
    await writeFile(path.join(watched, 'late'), 'appeared');
    await until('two more uploads', () => receiver.requests.length === 3);
    await until('the report', () => /refused bad/.test(output) && /uploaded late: status 201/.test(output));
  } finally {
    service.kill('SIGTERM');
    const [status] = await once(service, 'exit');
    receiver.stop();
    assert.deepEqual([status, output.match(/Error|undefined/)], [0, null], output);
  }
  const bodies = receiver.requests.map(({ url, body }) => [decodeURI(url), body.toString()]).sort();
  assert.deepEqual(bodies, [
    ['/in/bad', 'refused'], ['/in/früh.txt', 'there before'], ['/in/late', 'appeared']]);
  assert.deepEqual(await readdir(watched), ['refused.log']);
});
