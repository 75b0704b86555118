import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeSidecar } from '../src/testing.mjs';
import { URL_OF_TEST, deferred, fails, makeClient, quiet } from './rig.mjs';

const request = (vars) => ({ url: URL_OF_TEST, ...vars?.request });

/** A configured client with a definition `k` over a fake, and the states it heard. */
async function start() {
  const made = makeClient();
  made.states = [];
  made.client.addListener('state', ({ id, state }) => made.states.push(`${id} ${state}`));
  made.note = made.client.define({ key: 'k', request });
  made.other = made.client.define({ key: 'other', request });
  await made.client.configure();
  return made;
}

test('B109: enqueue keeps vars and data parsed, makes a row and a state event; rows are copies', async () => {
  const { client, fake, note, states } = await start();
  await note.mutate({ request: { data: { n: [null] } } }, { id: 'a' });
  await note.mutate(null, { id: 'b' });
  assert.deepEqual(fake.entries, [
    {
      id: 'a', key: 'k', vars: { request: { data: { n: [null] } } },
      request: { url: URL_OF_TEST, data: { n: [null] } },
    }, { id: 'b', key: 'k', vars: null, request: { url: URL_OF_TEST } }]);
  await quiet();
  assert.deepEqual(states, ['a queued', 'b queued']);
  const [row] = await client.getRequests();
  row.vars.request = 'changed';
  fake.rows[0].state = 'changed';
  assert.deepEqual((await client.getRequests())[0].vars, { request: { data: { n: [null] } } });
  assert.equal(fake.rows[0].state, 'queued');
});

test('B110: pause tells queue and keys apart, entries start paused, [] is none, reset clears', async () => {
  const { client, fake, note, other } = await start();
  const state = async (id) => (await client.getRequests({ id }))[0].state;
  await client.pause({ keys: [] });
  await note.mutate(null, { id: 'a' });
  assert.equal(await state('a'), 'queued');
  await client.pause({ keys: ['k'] });
  await other.mutate(null, { id: 'b' });
  assert.deepEqual([await state('a'), await state('b')], ['paused', 'queued']);
  await client.pause();
  await client.resume({ keys: ['k'] });
  assert.deepEqual([await state('a'), await state('b')], ['paused', 'paused']);
  await note.mutate(null, { id: 'c' });
  assert.equal(await state('c'), 'paused');
  await client.pause({ keys: ['k'] });
  await client.resume();
  assert.deepEqual([await state('a'), await state('b')], ['paused', 'queued']);
  fake.reset();
  await note.mutate(null, { id: 'd' });
  assert.deepEqual(fake.rows.map(({ id, state: now }) => [id, now]), [['d', 'queued']]);
});

test('B111: cancel settles a live entry, drops a settled one and its journal, bears any id', async () => {
  const { client, fake, note, states } = await start();
  await note.mutate(null, { id: 'a' });
  await client.cancel('a');
  await quiet();
  assert.deepEqual(states, ['a queued', 'a cancelled']);
  assert.deepEqual([fake.rows, fake.ackedEventIds.length], [[], 1]);
  fake.seedUnacknowledged([{ id: 'old', key: 'k', kind: 'error' }]);
  assert.equal(fake.rows.length, 1);
  await client.cancel('old');
  assert.deepEqual([fake.rows, fake.unacknowledged], [[], []]);
  await client.cancel('nobody');
});

test('D44: retry ends waits, reopens after an error, and refuses what cannot be sent again', async () => {
  const { client, fake, note, states } = await start();
  fake.seedRows([{ id: 'waits', key: 'k', state: 'queued', attempts: 1, nextAttemptAt: 9 },
    { id: 'parked', key: 'k', state: 'awaiting-auth' }, { id: 'runs', key: 'k', state: 'running' },
    { id: 'failed', key: 'k', state: 'error', attempts: 3, bytesSent: 5 },
    { id: 'done', key: 'k', state: 'completed' }, { id: 'gone', key: 'k', state: 'cancelled' }]);
  const row = await client.retry('waits');
  assert.deepEqual([row.id, row.state, row.attempts, row.nextAttemptAt], ['waits', 'queued', 1, undefined]);
  assert.equal((await client.retry('parked')).state, 'queued');
  assert.equal((await client.retry('runs')).state, 'running');
  assert.equal((await client.retry('failed')).attempts, 0);
  await quiet();
  assert.deepEqual(states, ['waits queued', 'parked queued', 'failed queued']);
  for (const id of ['done', 'gone', 'nobody']) {
    await assert.rejects(client.retry(id), (error) => error.code === 'E_INVALID' && error.path === 'id');
  }
  await note.mutate(null, { id: 'new' });
  fake.failNext('retry', 'E_STORAGE');
  await assert.rejects(client.retry('new'), (error) => error.code === 'E_STORAGE');
});

test('B112: events reach listeners until they are removed; removing twice is harmless', async () => {
  const { client, fake } = await start();
  let times = 0;
  const listener = client.addListener('progress', () => ++times);
  fake.emit.progress({ id: 'a', bytesSent: 0, totalBytes: 1 });
  listener.remove();
  listener.remove();
  fake.emit.progress({ id: 'a', bytesSent: 1, totalBytes: 1 });
  assert.equal(times, 1);
});

test('B113: outcomes are built from the entry, with overrides and unique ids; no unknown id', async () => {
  const { fake, note } = await start();
  await note.mutate({ request: { method: 'PUT', data: 'xyz' } }, { id: 'a' });
  const built = fake.buildSettled('a', { attempts: 3, response: { status: 201 } });
  const { id, key, url, method, kind } = built;
  assert.deepEqual([id, key, url, method, kind], ['a', 'k', URL_OF_TEST, 'PUT', 'completed']);
  assert.deepEqual([built.attempts, built.bytesSent, built.totalBytes, built.state], [3, 5, 5, 'completed']);
  assert.deepEqual(built.response, { status: 201, headers: {}, body: '', bodyTruncated: false });
  assert.equal(fake.buildSettled('a', { kind: 'error' }).error.errorKind, 'http');
  const others = [fake.buildSettled('a'), createFakeSidecar()].map((each) => each.eventId);
  assert.notEqual(others[0], built.eventId);
  assert.throws(() => fake.buildSettled('nobody'), /no entry nobody/);
  await assert.rejects(fake.settle('nobody'), /no entry nobody/);
  fake.seedRows([{ id: 'seeded', key: 'k', vars: { n: 1 } }]);
  assert.deepEqual(fake.buildSettled('seeded').vars, { n: 1 });
  const parts = [0, 1].map((start) => ({ url: `${URL_OF_TEST}/${start}`, range: { start, end: start + 1 } }));
  await note.mutate({ request: { url: undefined, file: '/f', parts } }, { id: 'p' });
  const chunked = fake.buildSettled('p');
  assert.deepEqual([chunked.url, chunked.partIndex], [`${URL_OF_TEST}/1`, 1]);
  assert.deepEqual(chunked.response, { bodyTruncated: false });
});

test('B114: settle journals, delivers, moves the row, and resolves with the acknowledgement', async () => {
  const { fake, note, states } = await start();
  await note.mutate(null, { id: 'a' });
  await fake.settle('a');
  assert.deepEqual([fake.rows, fake.unacknowledged], [[], []]);
  await note.mutate(null, { id: 'b' });
  await fake.settle('b', { kind: 'error' });
  assert.deepEqual(fake.rows.map(({ id, state }) => [id, state]), [['b', 'error']]);
  assert.deepEqual(states, ['a queued', 'a completed', 'b queued', 'b error']);
});

test('B114: settle rejects with a reason in time: nobody subscribed, no ack, a release', async () => {
  const fake = createFakeSidecar({ ackTimeoutMs: 30 });
  const { client } = makeClient({ fake });
  fake.seedRows([{ id: 'a', key: 'never' }]);
  await assert.rejects(fake.settle('a'), /a was not acknowledged: nobody is subscribed/);
  assert.equal(fake.unacknowledged[0].deliveries, 0);
  client.define({ key: 'never', request, onSuccess: () => new Promise(() => {}) });
  await client.configure();
  fake.seedRows([{ id: 'c', key: 'never' }]);
  await assert.rejects(fake.settle('c'), /c was not acknowledged: nothing came within 30 ms/);
  const patient = await start();
  patient.fake.seedRows([{ id: 'b', key: 'nobody' }]);
  await assert.rejects(patient.fake.settle('b'), /b was not acknowledged: the client released it/);
});

test('B114: failNext refuses one call of the method; getRequests too', async () => {
  const { client, fake, note } = await start();
  fake.failNext('getRequests', 'E_STORAGE', 'disk full');
  fake.failNext('enqueue', 'E_FILE_MISSING');
  await client.ping();
  await assert.rejects(client.getRequests(), fails('E_STORAGE', /disk full/));
  await assert.rejects(note.mutate(), fails('E_FILE_MISSING'));
  assert.deepEqual([await client.getRequests(), fake.entries], [[], []]);
});

test('B114: holdNext keeps a call and those behind it; then they run in order', async () => {
  const { fake, note } = await start();
  const release = fake.holdNext('enqueue');
  const order = [];
  const calls = ['a', 'b'].map((id) => note.mutate(null, { id }).then(
    () => order.push(id), (error) => order.push(error.code)));
  fake.failNext('enqueue');
  await quiet();
  assert.deepEqual([order, fake.entries], [[], []]);
  release();
  await Promise.all(calls);
  assert.deepEqual(order, ['E_STORAGE', 'b']);
});

test('B114: reset keeps the subscription and lets go of what settle waits for', async () => {
  const { client, fake } = await start();
  client.define({ key: 'slow', request, onSuccess: () => new Promise(() => {}) });
  fake.seedRows([{ id: 'a', key: 'slow' }]);
  const waiting = fake.settle('a');
  fake.reset();
  await waiting;
  assert.equal(fake.isSubscribed, true);
  assert.deepEqual([fake.rows, fake.unacknowledged, fake.calls], [[], [], []]);
});

test('a crash fails what is held; the next sidecar hears of network and subscription', async () => {
  const { client, fake, note, warnings } = await start();
  const gate = deferred();
  client.define({ key: 'slow', request, onSuccess: () => gate.promise });
  await client.setNetwork({ type: 'wifi' });
  fake.seedUnacknowledged([{ eventId: 'e', id: 's', key: 'slow' }]);
  await client.redeliver();
  await quiet();
  fake.holdNext('enqueue');
  const lost = note.mutate(null, { id: 'a' });
  await quiet();
  fake.crash({ signal: 'SIGKILL', stderr: 'x\nout of memory\n' });
  await assert.rejects(lost, (error) => {
    assert.deepEqual([error.code, error.signal, error.entryId], ['E_SIDECAR_EXITED', 'SIGKILL', 'a']);
    return true;
  });
  assert.match(warnings.at(-1), /SIGKILL: out of memory; the next call starts it again/);
  assert.equal(fake.isSubscribed, false);
  const before = fake.calls.length;
  await note.mutate(null, { id: 'a' });
  const said = fake.calls.slice(before).map(({ method }) => method);
  assert.deepEqual(said, ['setNetwork', 'subscribe', 'enqueue']);
  await quiet();
  gate.resolve();
  await quiet();
  assert.deepEqual(fake.ackedEventIds, ['e'], 'in hand when the sidecar died, and handled once');
});
