import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, beforeEach, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createUploadClient } from '../src/index.mjs';
import { Session } from '../src/session.mjs';
import { deferred, fails } from './rig.mjs';
import { BINARY, Receiver, needsBinary, until } from './sidecar.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
let folder;
let receiver;

before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'outtray-js-'));
});
after(() => rm(folder, { recursive: true }));
beforeEach(async (context) => {
  receiver = await Receiver.start();
  context.after?.(() => receiver.stop());
});

let serial = 0;
const newQueue = () => path.join(folder, `queue-${serial++}`);

/** Runs a body with a client of a real queue and a definition whose outcomes are kept. */
async function withClient(body, { dir = newQueue(), ...definition } = {}) {
  const warnings = [];
  const client = createUploadClient({ dir, binary: BINARY, onWarning: (message) => warnings.push(message) });
  const outcomes = [];
  const note = client.define({
    key: 'note', request: (vars) => ({ url: receiver.url('/notes'), ...vars?.request }),
    onSuccess: (...given) => outcomes.push(given), onError: (...given) => outcomes.push(given), ...definition,
  });
  try {
    await body({ client, note, outcomes, warnings, dir });
  } finally {
    await client.close();
    receiver.stop();
  }
}
const handled = (outcomes, count) => until(`${count} outcomes`, () => outcomes.length >= count);
const sha = (bytes) => createHash('sha256').update(bytes).digest('hex');

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

test('background: what a killed host has begun is finished, and told to the next host once', needsBinary,
  async () => {
    const dir = newQueue();
    const file = path.join(folder, 'background.bin');
    const bytes = randomBytes(300_000);
    await writeFile(file, bytes);
    const gate = deferred();
    receiver.gate = gate.promise;
    const host = spawn(process.execPath, [path.join(ROOT, 'test', 'driver.mjs')],
      { env: { ...process.env, OUTTRAY_BINARY: BINARY }, stdio: ['pipe', 'pipe', 'inherit'] });
    const request = { url: receiver.url('/notes'), file };
    const told = [
      { do: 'open', dir, options: { background: true } }, { do: 'define', key: 'note' },
      { do: 'mutate', key: 'note', id: 'a', vars: { request } }];
    let reports = '';
    host.stdout.on('data', (chunk) => {
      reports += chunk;
    });
    for (const [n, instruction] of told.entries()) {
      host.stdin.write(`${JSON.stringify({ ...instruction, n })}\n`);
      await until('the report', () => reports.includes(`{"n":${n},"done"`));
    }
    await until('the upload', () => receiver.requests.length === 1);
    host.kill('SIGKILL');
    await once(host, 'exit');
    gate.resolve();
    await withClient(async ({ client, outcomes }) => {
      await client.configure();
      await handled(outcomes, 1);
      await until('no rows', async () => (await client.getRequests()).length === 0);
      await client.redeliver();
      await client.ping();
      assert.deepEqual(outcomes.map(([, , { id }]) => id), ['a']);
    }, { dir });
    assert.deepEqual(receiver.requests.map(({ body }) => sha(body)), [sha(bytes)]);
  });

/** A file to send slowly: the receiver reads none of it before `release`. */
async function slowFile() {
  const reading = deferred();
  receiver.reading = reading.promise;
  const file = path.join(folder, 'slow.bin');
  const bytes = randomBytes(32 << 20);
  await writeFile(file, bytes);
  return { file, bytes, release: reading.resolve };
}

async function arrivesWhole({ dir, bytes, pid, release }) {
  assert.ok(existsSync(`/proc/${pid}`), 'the sidecar goes on');
  assert.equal(receiver.requests.length, 0);
  release();
  await until('the end of the sidecar', () => !existsSync(`/proc/${pid}`));
  assert.deepEqual(receiver.requests.map(({ body }) => sha(body)), [sha(bytes)]);
  await withClient(async ({ client, outcomes }) => {
    await client.configure();
    await handled(outcomes, 1);
    await client.redeliver();
    await client.ping();
    assert.deepEqual(outcomes.map(([, , { id }]) => id), ['slow']);
  }, { dir });
}

test('background: close answers what waits and leaves the sidecar to its upload', needsBinary, async () => {
  const dir = newQueue();
  const slow = await slowFile();
  const client = createUploadClient({ dir, binary: BINARY, background: true });
  const request = () => ({ url: receiver.url('/notes'), file: slow.file });
  await client.define({ key: 'note', request }).mutate(null, { id: 'slow' });
  await until('the upload', () => receiver.begun === 1);
  const { pid } = await client.server();
  const pings = Array.from({ length: 50 }, () => client.ping());
  const began = Date.now();
  await client.close();
  assert.ok(Date.now() - began < 5000);
  for (const { now } of await Promise.all(pings)) assert.equal(typeof now, 'number');
  await assert.rejects(client.ping(), fails('E_CLOSED'));
  await arrivesWhole({ dir, pid, ...slow });
});

test('background: a program ends by itself after close, and its upload goes on', needsBinary, async () => {
  const dir = newQueue();
  const slow = await slowFile();
  const index = new URL('../src/index.mjs', import.meta.url);
  const request = { url: receiver.url('/notes'), file: slow.file };
  const text = `import { once } from 'node:events';
    import { createUploadClient } from ${JSON.stringify(index)};
    const client = createUploadClient(${JSON.stringify({ dir, binary: BINARY, background: true })});
    const note = client.define({ key: 'note', request: () => (${JSON.stringify(request)}) });
    await client.configure();
    await note.mutate(null, { id: 'slow' });
    console.log((await client.server()).pid);
    await once(process.stdin, 'data');
    process.stdin.destroy();
    await client.close();`;
  const host = spawn(process.execPath, ['--input-type=module', '-e', text],
    { stdio: ['pipe', 'pipe', 'inherit'] });
  const [pid] = await once(host.stdout, 'data');
  await until('the upload', () => receiver.begun === 1);
  host.stdin.write('close\n');
  const [status] = await once(host, 'exit');
  assert.equal(status, 0);
  await arrivesWhole({ dir, pid: Number(pid), ...slow });
});

test('background: a sidecar with nothing to do is reaped before close resolves', needsBinary, async () => {
  const client = createUploadClient({ dir: newQueue(), binary: BINARY, background: 60 });
  const { pid } = await client.server();
  await client.close();
  assert.equal(existsSync(`/proc/${pid}`), false);
});

test('background: the sidecar has its own process group, and ours without', needsBinary, async () => {
  const group = async (pid) => {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    return Number(stat.split(') ').pop().split(' ')[2]);
  };
  for (const background of [true, false]) {
    const client = createUploadClient({ dir: newQueue(), binary: BINARY, background });
    try {
      const { pid } = await client.server();
      assert.equal(await group(pid), background ? pid : await group(process.pid));
    } finally {
      await client.close();
    }
  }
});

/** Another host on a queue, in a process of its own: tells its `server()`, then does a line at a time. */
async function otherHost(dir) {
  const index = new URL('../src/index.mjs', import.meta.url);
  const text = `import { createInterface } from 'node:readline';
    import { createUploadClient } from ${JSON.stringify(index)};
    const client = createUploadClient(${JSON.stringify({ dir, binary: BINARY })});
    const request = () => ({ url: ${JSON.stringify(receiver.url('/notes'))} });
    const note = client.define({ key: 'note', request, onSuccess: (raw, vars, { id }) => console.log(id) });
    await client.configure();
    const tell = async () => console.log(JSON.stringify(await client.server()));
    await tell();
    for await (const line of createInterface({ input: process.stdin })) {
      await client.ping();
      if (line === 'mutate') await note.mutate(null, { id: 'late' });
      else await tell();
    }
    await client.close();`;
  const host = spawn(process.execPath, ['--input-type=module', '-e', text],
    { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: host.stdout })[Symbol.asyncIterator]();
  const hear = async () => (await lines.next()).value;
  const ask = (line) => host.stdin.write(`${line}\n`) && hear();
  return { host, ask, server: JSON.parse(await hear()) };
}

test('close lets a sidecar go that serves another host, without a signal', needsBinary, async () => {
  const dir = newQueue();
  const exits = [];
  const owner = await Session.open({ dir, binary: BINARY, onExit: (exit) => exits.push(exit) });
  const other = await otherHost(dir);
  assert.equal(other.server.pid, owner.server.pid);
  const began = Date.now();
  assert.equal(await owner.close(), null);
  assert.ok(Date.now() - began < 5000);
  await assert.rejects(owner.call('ping'), fails('E_CLOSED'));
  assert.equal(await other.ask('mutate'), 'late');
  assert.equal(JSON.parse(await other.ask('server')).pid, owner.server.pid);
  other.host.stdin.end();
  await once(other.host, 'exit');
  const { exitCode, signal } = await owner.exited;
  assert.deepEqual([exitCode, signal, exits.length, receiver.requests.length], [0, null, 0, 1]);
});

test('close lets a program end whose sidecar goes on for another host', needsBinary, async () => {
  const dir = newQueue();
  const index = new URL('../src/index.mjs', import.meta.url);
  const text = `import { once } from 'node:events';
    import { createUploadClient } from ${JSON.stringify(index)};
    const client = createUploadClient(${JSON.stringify({ dir, binary: BINARY })});
    console.log((await client.server()).pid);
    await once(process.stdin, 'data');
    process.stdin.destroy();
    await client.close();`;
  const host = spawn(process.execPath, ['--input-type=module', '-e', text],
    { stdio: ['pipe', 'pipe', 'inherit'] });
  const pid = Number(await once(host.stdout, 'data'));
  await withClient(async ({ client, note, outcomes }) => {
    await client.configure();
    assert.equal((await client.server()).pid, pid);
    const began = Date.now();
    host.stdin.write('close\n');
    assert.deepEqual(await once(host, 'exit'), [0, null]);
    assert.ok(Date.now() - began < 5000);
    await client.ping();
    await note.mutate(null);
    await handled(outcomes, 1);
    assert.equal((await client.server()).pid, pid);
  }, { dir });
});

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
