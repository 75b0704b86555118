import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createUploadClient } from '../src/index.mjs';
import { createFakeSidecar } from '../src/testing.mjs';
import { URL_OF_TEST, deferred, fails, makeClient, quiet } from './rig.mjs';

const request = () => ({ url: URL_OF_TEST });
const row = (id, more) => ({
  id, key: 'k', vars: null, state: 'queued', bytesSent: 0, totalBytes: 0, attempts: 0, ...more,
});

test('B84: a client has the members of the API and no others', () => {
  const client = createUploadClient({ sidecar: createFakeSidecar() });
  const members = Object.getOwnPropertyNames(Object.getPrototypeOf(client)).sort();
  assert.deepEqual(members, [
    'addListener', 'advanceClock', 'cancel', 'cancelGroup', 'chunkPlan', 'close', 'configure', 'constructor',
    'define', 'events', 'explain', 'explainGroup', 'getRequests', 'onGroupSettled', 'pause', 'ping',
    'pipeline', 'redeliver', 'resume', 'retry', 'server', 'setNetwork', 'setWifiOnly', 'stats',
    'takeDiagnostics', 'updateHeaders']);
  assert.deepEqual(Object.keys(client), []);
});

test('createUploadClient refuses options that are unknown or wrong, by name', () => {
  assert.throws(() => createUploadClient({}), fails('E_INVALID', /options\.dir is missing/));
  assert.throws(() => createUploadClient({ dir: '' }), fails('E_INVALID', /options\.dir/));
  assert.throws(() => createUploadClient({ dir: '/q', binry: 'x' }), fails('E_INVALID', /mean binary/));
  assert.throws(() => createUploadClient({ dir: '/q', background: 0.5 }), fails('E_INVALID', /background/));
  assert.throws(() => createUploadClient({ dir: '/q', onWarning: 'log' }), fails('E_INVALID', /onWarning/));
});

test('B85: configure hands on what the sidecar knows, keeps the rest, and invents no retry', async () => {
  const { client, fake } = makeClient();
  const retry = { backoff: { baseMs: 1, maxMs: 2, jitter: 0 } };
  await client.configure({
    lifetimeMs: 1000, retry, http2: true, proxy: null,
    headers: () => ({}), maxVarsBytes: 10, enqueueTimeoutMs: 5, onWarning: () => {},
  });
  await client.configure({ lifetimeMs: 2000, retry: undefined });
  await client.configure({ maxVarsBytes: 20 });
  const sent = fake.calls.filter(({ method }) => method === 'configure').map(({ params }) => params);
  assert.deepEqual(sent, [{ lifetimeMs: 1000, retry, http2: true, proxy: null }, { lifetimeMs: 2000 }]);
});

test('B86: configure refuses lifetimes and sizes that are zero or not finite, and unknown options', () => {
  const { client, fake } = makeClient();
  for (const name of ['lifetimeMs', 'maxVarsBytes', 'enqueueTimeoutMs']) {
    for (const wrong of [0, -1, NaN, Infinity, '7']) {
      assert.throws(() => client.configure({ [name]: wrong }), fails('E_INVALID', new RegExp(name)));
    }
  }
  assert.throws(() => client.configure({ header: () => ({}) }), fails('E_INVALID', /did you mean headers/));
  assert.throws(() => client.configure({ android: {} }), fails('E_INVALID', /android/));
  assert.deepEqual(fake.calls, []);
});

test('B87: configured headers and lifetime count from the next mutate on', async () => {
  const { client, fake, clock } = makeClient();
  const note = client.define({ key: 'k', request });
  await note.mutate();
  client.configure({ headers: () => ({ A: '1' }), lifetimeMs: 5 });
  await note.mutate();
  assert.deepEqual(fake.entries.map(({ request: { headers, expiresAt } }) => [headers, expiresAt]),
    [[undefined, undefined], [{ A: '1' }, clock.now() + 5]]);
});

test('configure that the sidecar refuses is a warning, and a rejection for who waits', async () => {
  const { client, fake, warnings } = makeClient();
  fake.failNext('configure', 'E_STORAGE');
  await assert.rejects(client.configure({ lifetimeMs: 5 }), fails('E_STORAGE'));
  fake.failNext('configure', 'E_STORAGE');
  client.configure({ lifetimeMs: 5 });
  await quiet();
  assert.equal(warnings.filter((text) => /configure failed/.test(text)).length, 2);
});

test('B88: pause, resume, cancel, setWifiOnly and the like pass through, refusals too', async () => {
  const { client, fake } = makeClient();
  const cases = [
    ['pause', [], {}], ['pause', [{ keys: ['a'] }], { keys: ['a'] }], ['pause', [{ keys: [] }], { keys: [] }],
    ['resume', [], {}], ['resume', [{ keys: ['a'] }], { keys: ['a'] }], ['cancel', ['x'], { id: 'x' }],
    ['setWifiOnly', [true], { wifiOnly: true }],
    ['setNetwork', [{ type: 'wifi', metered: true }], { type: 'wifi', metered: true }],
    ['updateHeaders', [{ A: 'b' }], { headers: { A: 'b' } }],
    ['updateHeaders', [{ A: 'b' }, { keys: ['k'], origin: 'https://a.test' }],
      { headers: { A: 'b' }, keys: ['k'], origin: 'https://a.test' }],
  ];
  for (const [method, given, params] of cases) {
    assert.equal(await client[method](...given), undefined);
    assert.deepEqual(fake.calls.at(-1), { method, params });
    fake.failNext(method, 'E_STORAGE');
    await assert.rejects(client[method](...given), fails('E_STORAGE'));
  }
});

test('a scope that could pause the whole queue by mistake is refused', async () => {
  const { client, fake } = makeClient();
  const scopes = [{ keys: undefined }, { keys: 'a' }, { keys: [''] }, { key: 'a' }, { keys: [7] }, null, 'a'];
  for (const scope of scopes) {
    await assert.rejects(client.pause(scope), fails('E_INVALID', /^pause/));
    await assert.rejects(client.resume(scope), fails('E_INVALID', /^resume/));
  }
  await assert.rejects(client.cancel(''), fails('E_INVALID', /cancel/));
  await assert.rejects(client.retry(''), fails('E_INVALID', /retry/));
  await assert.rejects(client.setWifiOnly('yes'), fails('E_INVALID', /wifiOnly/));
  await assert.rejects(client.setNetwork({ type: '5g' }), fails('E_INVALID', /type/));
  await assert.rejects(client.updateHeaders({}, { key: ['a'] }), fails('E_INVALID', /did you mean keys/));
  assert.deepEqual(fake.calls, []);
});

test('B89, D41: getRequests gives the rows, by key, by id, by both, or none', async () => {
  const { client, fake } = makeClient();
  fake.seedRows([row('a'), row('b', { key: 'other', state: 'error' }), row('c')]);
  const ids = async (filter) => (await client.getRequests(filter)).map(({ id }) => id);
  assert.deepEqual(await ids(), ['a', 'b', 'c']);
  assert.deepEqual(await ids({}), ['a', 'b', 'c']);
  assert.deepEqual(await ids({ key: 'k' }), ['a', 'c']);
  assert.deepEqual(await ids({ id: 'b' }), ['b']);
  assert.deepEqual(await ids({ id: 'b', key: 'k' }), []);
  assert.deepEqual(await ids({ state: 'error' }), ['b']);
  await assert.rejects(client.getRequests({ keys: ['k'] }), fails('E_INVALID', /did you mean key/));
});

test('D41: getRequests walks all pages', async () => {
  const { client, fake } = makeClient();
  const asked = [];
  fake.call = async (method, params) => {
    asked.push(params);
    const from = Number(params.cursor ?? 0);
    const requests = [row(`r${from}`), row(`r${from + 1}`)];
    return { requests, ...(from < 4 && { nextCursor: String(from + 2) }) };
  };
  const rows = await client.getRequests({ key: 'k' });
  assert.deepEqual(rows.map(({ id }) => id), ['r0', 'r1', 'r2', 'r3', 'r4', 'r5']);
  assert.deepEqual(asked, [{ key: 'k' }, { key: 'k', cursor: '2' }, { key: 'k', cursor: '4' }]);
});

test('B90: listeners for progress and attempt hear their events; another name is refused', async () => {
  const { client, fake } = makeClient();
  const heard = [];
  client.addListener('progress', (detail) => heard.push(['progress', detail]));
  client.addListener('attempt', (detail) => heard.push(['attempt', detail]));
  await client.configure();
  fake.emit.progress({ id: 'a', bytesSent: 1, totalBytes: 2 });
  fake.emit.attempt({ id: 'a', key: 'k', attempt: 1 });
  assert.deepEqual(heard, [
    ['progress', { id: 'a', bytesSent: 1, totalBytes: 2 }], ['attempt', { id: 'a', key: 'k', attempt: 1 }]]);
  for (const name of ['settled', 'notification', '', undefined]) {
    assert.throws(() => client.addListener(name, () => {}), /addListener: no event is called/);
    assert.throws(() => client.events(name), /events: no event is called/);
  }
  assert.throws(() => client.addListener('state', 'log'), TypeError);
});

test('B91: a state listener sees the sidecar\'s rows and unhandled-key rows until its removal', async () => {
  const { client, fake } = makeClient();
  const heard = [];
  const listener = client.addListener('state', ({ id, reason }) => heard.push([id, reason]));
  await client.configure();
  const unhandled = async (id) => {
    fake.seedUnacknowledged([{ id, key: 'nobody' }]);
    await client.redeliver();
    await quiet();
  };
  fake.emit.state(row('a'));
  await unhandled('b');
  assert.deepEqual(heard, [['a', undefined], ['b', 'unhandled-key']]);
  listener.remove();
  listener.remove();
  fake.emit.state(row('c'));
  await unhandled('d');
  assert.equal(heard.length, 2);
});

test('B92: the same function added twice is two listeners, removed one by one', async () => {
  const { client, fake } = makeClient();
  let times = 0;
  const listen = () => ++times;
  const [one, two] = [client.addListener('state', listen), client.addListener('state', listen)];
  await client.configure();
  fake.emit.state(row('a'));
  assert.equal(times, 2);
  one.remove();
  fake.emit.state(row('a'));
  assert.equal(times, 3);
  two.remove();
  fake.emit.state(row('a'));
  assert.equal(times, 3);
});

test('B93: a listener that throws, rejects or never returns disturbs nobody else', async () => {
  const { client, fake, warnings } = makeClient();
  const heard = [];
  client.addListener('state', () => {
    throw new Error('thrown');
  });
  client.addListener('state', () => Promise.reject(new Error('rejected')));
  client.addListener('state', () => new Promise(() => {}));
  client.addListener('state', ({ id }) => heard.push(id));
  const note = client.define({ key: 'k', request, onSuccess: () => heard.push('handled') });
  await client.configure();
  await note.mutate(null, { id: 'a' });
  await quiet();
  await fake.settle('a');
  assert.deepEqual(heard, ['a', 'a', 'handled']);
  assert.deepEqual(warnings.map((text) => /thrown|rejected/.exec(text)?.[0]).sort(),
    ['rejected', 'rejected', 'thrown', 'thrown']);
});

test('B94: a listener of resync, whose event has no content, is called without arguments', async () => {
  const { client, fake } = makeClient();
  const given = [];
  client.addListener('resync', (...each) => given.push(each));
  await client.configure();
  fake.emit.resync();
  assert.deepEqual(given, [[]]);
});

test('B95: from mutate over settling to handler with parsed data, meta and acknowledgement', async () => {
  const { client, fake } = makeClient();
  const heard = [];
  const note = client.define({
    key: 'k', request, response: (raw) => raw.id, onSuccess: (...given) => heard.push(given) });
  await client.configure();
  const { id } = await note.mutate({ n: 1 });
  await fake.settle(id, { response: { body: '{"id":7}' } });
  const [[data, vars, meta]] = heard;
  assert.deepEqual([data, vars, meta.id, meta.deliveries], [7, { n: 1 }, id, 1]);
  assert.deepEqual(await client.getRequests(), []);
});

test('B97: what settled before configure comes, deliveries 1; an error row stays after its ack', async () => {
  const { client, fake } = makeClient();
  const heard = [];
  const note = client.define({
    key: 'k', request,
    onError: ({ errorKind }, vars, { deliveries }) => heard.push([errorKind, deliveries]) });
  await note.mutate(null, { id: 'a' });
  const settled = fake.settle('a', { kind: 'error', error: { errorKind: 'expired' } });
  await quiet();
  assert.deepEqual(heard, []);
  assert.deepEqual(fake.unacknowledged.map(({ deliveries }) => deliveries), [0]);
  await client.configure();
  await settled;
  assert.deepEqual(heard, [['expired', 1]]);
  assert.deepEqual((await client.getRequests()).map(({ id, state }) => [id, state]), [['a', 'error']]);
});

test('events come to for await beside listeners, those named or all, until close', async () => {
  const { client, fake } = makeClient();
  await client.configure();
  const [all, some] = [client.events(), client.events('progress')];
  fake.emit.state(row('a'));
  fake.emit.progress({ id: 'a', bytesSent: 1, totalBytes: 2 });
  const heard = [];
  const reading = (async () => {
    for await (const { event, detail } of some) heard.push([event, detail.bytesSent]);
  })();
  assert.equal((await all.next()).value.event, 'state');
  assert.equal((await all.next()).value.event, 'progress');
  await quiet();
  fake.emit.progress({ id: 'a', bytesSent: 2, totalBytes: 2 });
  await quiet();
  await client.close();
  await reading;
  assert.deepEqual(heard, [['progress', 1], ['progress', 2]]);
  assert.deepEqual((await all.next()).value.detail.bytesSent, 2);
  assert.equal((await all.next()).done, true);
  assert.equal((await client.events().next()).done, true);
});

test('a reader of events that does not read costs bounded memory: newest values, and a resync', async () => {
  const { client, fake } = makeClient();
  await client.configure();
  const stream = client.events();
  for (let index = 0; index < 3000; index++) {
    fake.emit.progress({ id: 'one', bytesSent: index, totalBytes: 3000 });
    fake.emit.attempt({ id: 'one', attempt: index });
    fake.emit.state(row(`r${index}`));
  }
  const heard = { state: [], progress: [], attempt: [], resync: [] };
  const count = () => Object.values(heard).flat().length;
  const ended = client.close();
  for await (const { event, detail } of stream) heard[event].push(detail);
  await ended;
  assert.deepEqual(heard.progress.map(({ bytesSent }) => bytesSent), [2999]);
  assert.deepEqual(heard.attempt.map(({ attempt }) => attempt).slice(-1), [2999]);
  assert.equal(heard.attempt.length, 1024);
  assert.equal(heard.resync.length, 1);
  assert.ok(heard.state.length <= 1024 && heard.state.at(-1).id === 'r2999');
  assert.ok(count() < 2100);
});

test('takeDiagnostics, stats, ping, explain and server answer', async () => {
  const { client, fake } = makeClient();
  const record = { at: 1, level: 'info', message: 'boot sweep', data: { orphans: { files: 0 } } };
  fake.seedDiagnostics([record]);
  fake.seedRows([row('a')]);
  assert.deepEqual(await client.takeDiagnostics(), [record]);
  assert.deepEqual(await client.takeDiagnostics(), []);
  assert.equal((await client.stats()).entries.queued, 1);
  assert.equal(typeof (await client.ping()).now, 'number');
  assert.equal((await client.explain('a')).state, 'queued');
  assert.equal((await client.server()).role, 'owner');
});

test('redeliver before configure is refused', async () => {
  const { client } = makeClient();
  await assert.rejects(client.redeliver(), fails('E_NOT_CONFIGURED', /configure/));
});

test('warnings go to the console until somebody takes them; a sink that throws loses none', async () => {
  const said = [];
  const { warn } = console;
  console.warn = (...given) => said.push(given);
  try {
    const client = createUploadClient({ sidecar: createFakeSidecar() });
    client.define({ key: 'k', request });
    client.define({ key: 'k', request });
    assert.equal(said.length, 1);
    assert.match(said[0][0], /^outtray: the key k/);
    const taken = [];
    await client.configure({ onWarning: (message) => taken.push(message) });
    client.define({ key: 'k', request });
    assert.deepEqual([taken.length, said.length], [1, 1]);
    await client.configure({
      onWarning: () => {
        throw new Error('sink');
      },
    });
    client.define({ key: 'k', request });
    assert.equal(said.length, 3);
  } finally {
    console.warn = warn;
  }
});

test('close waits for handlers that run, starts no others, and ends in bounded time', async () => {
  const { client, fake, clock } = makeClient();
  const gate = deferred();
  const started = [];
  client.define({
    key: 'k', request, onSuccess: async (response, vars, { id }) => {
      started.push(id);
      await gate.promise;
    },
  });
  await client.configure();
  fake.seedUnacknowledged([{ eventId: 'e1', id: 'a', key: 'k' }, { eventId: 'e2', id: 'a', key: 'k' }]);
  await client.redeliver();
  await quiet();
  const closed = client.close();
  assert.equal(client.close(), closed);
  gate.resolve();
  await closed;
  assert.deepEqual([started, fake.ackedEventIds], [['a'], ['e1']]);
  const stuck = makeClient({ clock });
  stuck.client.define({ key: 'k', request, onSuccess: () => stuck.client.close() });
  stuck.fake.seedUnacknowledged([{ id: 'a', key: 'k' }]);
  await stuck.client.configure();
  await quiet();
  clock.advance(5000);
  await stuck.client.close();
});

test('await using closes the client', async () => {
  const { client } = makeClient();
  if (!Symbol.asyncDispose) return;
  const stream = client.events();
  await client[Symbol.asyncDispose]();
  assert.equal((await stream.next()).done, true);
});
