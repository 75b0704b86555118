import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { createUploadClient } from '../src/index.mjs';
import { Session } from '../src/session.mjs';
import { ROOT, folder, handled, newQueue, receiver, sha, withClient } from './real.mjs';
import { deferred, fails } from './rig.mjs';
import { BINARY, needsBinary, until } from './sidecar.mjs';

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
