import assert from 'node:assert/strict';
import { test } from 'node:test';
import { URL_OF_TEST, fails, makeClient, quiet } from './rig.mjs';

const post = () => ({ url: URL_OF_TEST, data: { a: 1 } });
const onlyEntry = (fake) => {
  assert.equal(fake.entries.length, 1);
  return fake.entries[0];
};

test('B1: define gives back the key and a mutate function', () => {
  const { client } = makeClient();
  const note = client.define({ key: 'note.add', request: post });
  assert.equal(note.key, 'note.add');
  assert.equal(typeof note.mutate, 'function');
  assert.deepEqual(Object.keys(note), ['key', 'mutate']);
});

test('B2: a key defined again replaces the first and warns once; the first time is silent', () => {
  const { client, warnings } = makeClient();
  client.define({ key: 'k', request: post });
  assert.deepEqual(warnings, []);
  client.define({ key: 'k', request: post });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], /\bk\b/);
});

test('B3: a mutate kept from before uses the definition that replaced its own', async () => {
  const { client, fake } = makeClient();
  const old = client.define({ key: 'k', request: () => ({ url: 'https://api.test/old' }) });
  client.define({ key: 'k', request: () => ({ url: 'https://api.test/new' }) });
  await old.mutate();
  assert.equal(onlyEntry(fake).request.url, 'https://api.test/new');
});

test('B4: an empty key and a missing request are refused by name', () => {
  const { client } = makeClient();
  assert.throws(() => client.define({ key: '', request: post }), fails('E_INVALID', /key/));
  assert.throws(() => client.define({ request: post }), fails('E_INVALID', /key/));
  assert.throws(() => client.define({ key: 'k' }), fails('E_INVALID', /request/));
  const odd = { key: 'k', request: post, onSuccess: 7 };
  assert.throws(() => client.define(odd), fails('E_INVALID', /onSuccess/));
});

test('B5: definitions of one client mean nothing to another', async () => {
  const [one, two] = [makeClient(), makeClient()];
  one.client.define({ key: 'k', request: post });
  const handle = two.client.define({ key: 'k', request: () => ({ url: 'https://two.test/' }) });
  assert.deepEqual([...one.warnings, ...two.warnings], []);
  await handle.mutate();
  assert.equal(one.fake.entries.length, 0);
  assert.equal(onlyEntry(two.fake).request.url, 'https://two.test/');
});

test('B6: mutate calls request once and enqueues id, key, vars and descriptor', async () => {
  const { client, fake } = makeClient();
  const seen = [];
  const note = client.define({ key: 'k', request: (vars) => seen.push(vars) && post() });
  const vars = { noteId: 7 };
  await note.mutate(vars, { id: 'note-7' });
  assert.deepEqual(seen, [vars]);
  assert.equal(seen[0], vars);
  assert.deepEqual(onlyEntry(fake), {
    id: 'note-7', key: 'k', vars: { noteId: 7 }, request: { url: URL_OF_TEST, data: { a: 1 } },
  });
});

test('B7: vars and data are serialised once, and that text is sent', async () => {
  const { client } = makeClient();
  let times = 0;
  const counted = { toJSON: () => ({ time: ++times }) };
  const { fake, ...one } = makeClient();
  const texts = [];
  const call = fake.call.bind(fake);
  fake.call = (method, params) => {
    texts.push(String(params));
    return call(method, params);
  };
  const note = one.client.define({ key: 'k', request: () => ({ url: URL_OF_TEST, data: counted }) });
  await note.mutate({ b: 1, a: [1.50, 'ä'] }, { id: 'x' });
  assert.deepEqual(texts, ['{"id":"x","key":"k","vars":{"b":1,"a":[1.5,"ä"]},'
    + `"request":{"url":"${URL_OF_TEST}","data":{"time":1}}}`]);
  assert.equal(times, 1);
  await client.close();
});

test('B8: nulls survive in vars and data, members and items', async () => {
  const { client, fake } = makeClient();
  const data = { tag: null, list: [null] };
  const note = client.define({ key: 'k', request: () => ({ url: URL_OF_TEST, data }) });
  await note.mutate({ status: null, list: [1, null] });
  assert.deepEqual(onlyEntry(fake).vars, { status: null, list: [1, null] });
  assert.deepEqual(onlyEntry(fake).request.data, { tag: null, list: [null] });
});

test('B9: data null is a body, data left out or undefined is none', async () => {
  const { client, fake } = makeClient();
  const note = client.define({ key: 'k', request: (vars) => ({ url: URL_OF_TEST, ...vars }) });
  await note.mutate({ data: null });
  await note.mutate({});
  await note.mutate({ data: undefined });
  assert.deepEqual(fake.entries.map(({ request }) => request), [
    { url: URL_OF_TEST, data: null }, { url: URL_OF_TEST }, { url: URL_OF_TEST }]);
});

test('B10: mutate without arguments hands on null; the id can be given all the same', async () => {
  const { client, fake } = makeClient();
  const seen = [];
  const note = client.define({ key: 'k', request: (vars) => seen.push(vars) && post() });
  await note.mutate();
  await note.mutate(undefined, { id: 'mine' });
  await note.mutate(null, { id: 'too' });
  assert.deepEqual(seen, [null, null, null]);
  assert.deepEqual(fake.entries.map(({ vars }) => vars), [null, null, null]);
  assert.deepEqual(fake.entries.slice(1).map(({ id }) => id), ['mine', 'too']);
});

test('B11: mutate resolves with the id the client chose, whatever the answer says', async () => {
  const { client, fake } = makeClient();
  const call = fake.call.bind(fake);
  fake.call = async (...given) => ({ ...await call(...given), id: 'another' });
  const note = client.define({ key: 'k', request: post });
  const mutation = await note.mutate(null, { id: 'mine' });
  assert.deepEqual(mutation, { id: 'mine', generation: 1, disposition: 'created' });
});

test('B12: ids that are made are version 4 UUIDs, and a hundred of them differ', async () => {
  const { client } = makeClient();
  const note = client.define({ key: 'k', request: post });
  const made = await Promise.all(Array.from({ length: 100 }, () => note.mutate()));
  const ids = new Set(made.map(({ id }) => id));
  assert.equal(ids.size, 100);
  const v4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  for (const id of ids) assert.match(id, v4);
});

test('B14: a refusal by the sidecar reaches the caller of mutate', async () => {
  const { client, fake } = makeClient();
  const note = client.define({ key: 'k', request: post });
  for (const code of ['E_INVALID', 'E_RUNNING', 'E_FILE_MISSING', 'E_STORAGE']) {
    fake.failNext('enqueue', code);
    await assert.rejects(note.mutate(), fails(code, /^enqueue: /));
  }
});

test('B15: if request or the headers provider throws, mutate rejects and nothing is sent', async () => {
  const { client, fake } = makeClient();
  const boom = new Error('boom');
  const note = client.define({
    key: 'k',
    request: () => {
      throw boom;
    },
  });
  await assert.rejects(note.mutate(), boom);
  const sound = client.define({ key: 's', request: post });
  await client.configure({
    headers: () => {
      throw boom;
    },
  });
  await assert.rejects(sound.mutate(), boom);
  await client.configure({ headers: () => 'Authorization: x' });
  await assert.rejects(sound.mutate(), fails('E_INVALID', /configure\.headers\(\)/));
  assert.equal(fake.entries.length, 0);
});

test('B16: vars of 1 MiB pass, one byte more is refused with both numbers', async () => {
  const { client, fake } = makeClient();
  const note = client.define({ key: 'k', request: post });
  const room = 1_048_576 - '{"t":""}'.length;
  await note.mutate({ t: 'x'.repeat(room) });
  await assert.rejects(note.mutate({ t: 'x'.repeat(room + 1) }), fails('E_INVALID', /1048577 .*1048576/));
  assert.equal(fake.entries.length, 1);
});

test('B17: which size counts is looked up at each mutate', async () => {
  const { client } = makeClient();
  const note = client.define({ key: 'k', request: post });
  await client.configure({ maxVarsBytes: 10 });
  await note.mutate({ a: 1234 });
  await assert.rejects(note.mutate({ a: 12345 }), fails('E_INVALID', /11 .*10/));
  client.configure({ maxVarsBytes: 11 });
  await note.mutate({ a: 12345 });
});

test('B18: sizes are bytes of UTF-8, for characters of one to four bytes', async () => {
  const { client } = makeClient();
  const note = client.define({ key: 'k', request: post });
  for (const [character, bytes] of [['a', 1], ['é', 2], ['€', 3], ['😀', 4]]) {
    await client.configure({ maxVarsBytes: '{"t":""}'.length + bytes });
    await note.mutate({ t: character });
    await client.configure({ maxVarsBytes: '{"t":""}'.length + bytes - 1 });
    await assert.rejects(note.mutate({ t: character }), fails('E_INVALID'));
  }
});

test('B19: vars that contain themselves, or a big integer, are not serializable', async () => {
  const { client } = makeClient();
  const note = client.define({ key: 'k', request: post });
  const loop = {};
  loop.loop = loop;
  await assert.rejects(note.mutate(loop), fails('E_INVALID', /vars is not JSON-serializable/));
  await assert.rejects(note.mutate({ n: 1n }), fails('E_INVALID', /not JSON-serializable/));
});

test('B20: a function or a plain value as vars is refused by its type', async () => {
  const { client, fake } = makeClient();
  const note = client.define({ key: 'k', request: post });
  for (const vars of [() => {}, 'text', 7, true, Symbol('s'), 7n]) {
    await assert.rejects(note.mutate(vars), fails('E_INVALID', new RegExp(typeof vars)));
  }
  assert.equal(fake.entries.length, 0);
});

test('B21: vars that serialise to a plain value or to nothing are refused', async () => {
  const { client } = makeClient();
  const note = client.define({ key: 'k', request: post });
  for (const vars of [new Date(0), { toJSON: () => 7 }, { toJSON: () => undefined }]) {
    await assert.rejects(note.mutate(vars), fails('E_INVALID', /vars/));
  }
});

test('B22, B23: an instance goes with its fields, undefined ones fall away; a list may be vars', async () => {
  class Note {
    title = 'hi';
    gone = undefined;
    shout() {
      return this.title;
    }
  }
  const { client, fake } = makeClient();
  const note = client.define({ key: 'k', request: post });
  await note.mutate(new Note());
  await note.mutate([{ a: undefined, b: 1 }]);
  assert.deepEqual(fake.entries.map(({ vars }) => vars), [{ title: 'hi' }, [{ b: 1 }]]);
});

test('A-RPC-10: a lone surrogate is refused here with its place; whole characters pass', async () => {
  const { client, fake } = makeClient();
  const note = client.define({
    key: 'k', request: ({ data, headers }) => ({ url: URL_OF_TEST, data, headers }) });
  const refused = [
    [{ data: { list: ['ok', '\ud800'] } }, 'vars.data.list[1]'],
    [{ headers: { A: 'x\udc00' } }, 'vars.headers.A']];
  for (const [vars, path] of refused) {
    await assert.rejects(note.mutate(vars), (error) => fails('E_INVALID')(error) && error.path === path);
  }
  const body = client.define({ key: 'b', request: () => ({ url: URL_OF_TEST, data: '\udfff' }) });
  await assert.rejects(body.mutate(), fails('E_INVALID', /request\.data/));
  await note.mutate({ data: '\\ud800 😀' });
  assert.equal(onlyEntry(fake).request.data, '\\ud800 😀');
});

test('B24, B25, B300: a slow enqueue is warned about once, at the limit; one in time never', async () => {
  const { client, fake, clock, warnings } = makeClient();
  const note = client.define({ key: 'k', request: post });
  const release = fake.holdNext('enqueue');
  const slow = note.mutate(null, { id: 'slow' });
  await quiet();
  clock.advance(9_999);
  assert.deepEqual(warnings, []);
  clock.advance(1);
  clock.advance(100_000);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], /slow.*10000 ms/);
  release();
  assert.equal((await slow).id, 'slow');
  await note.mutate();
  assert.equal(clock.waiting, 0);
  clock.advance(100_000);
  assert.equal(warnings.length, 1);
});

test('B27: configured headers lie under the descriptor\'s; the provider is asked once a mutate', async () => {
  const { client, fake } = makeClient();
  let asked = 0;
  await client.configure({ headers: () => ({ Authorization: `Bearer ${++asked}`, 'X-App': 'a' }) });
  const note = client.define({ key: 'k', request: () => ({ url: URL_OF_TEST, headers: { 'X-App': 'b' } }) });
  await note.mutate();
  assert.deepEqual(onlyEntry(fake).request.headers, { Authorization: 'Bearer 1', 'X-App': 'b' });
  assert.equal(asked, 1);
});

test('B28: names match without regard to case, and the descriptor\'s spelling stays alone', async () => {
  const { client, fake } = makeClient();
  await client.configure({ headers: () => ({ AUTHORIZATION: 'old', 'content-type': 'a/b' }) });
  const note = client.define({
    key: 'k', request: () => ({ url: URL_OF_TEST, headers: { Authorization: 'new' } }) });
  await note.mutate();
  assert.deepEqual(onlyEntry(fake).request.headers, { 'content-type': 'a/b', Authorization: 'new' });
});

test('B29: configured headers alone when the descriptor has none; none when nobody has any', async () => {
  const { client, fake } = makeClient();
  const note = client.define({ key: 'k', request: post });
  await note.mutate();
  await client.configure({ headers: () => ({ A: '1' }) });
  await note.mutate();
  assert.equal('headers' in fake.entries[0].request, false);
  assert.deepEqual(fake.entries[1].request.headers, { A: '1' });
});

test('B30: expiresAt is now plus the lifetime set here, or as given, else the sidecar\'s own', async () => {
  const { client, fake, clock } = makeClient();
  const note = client.define({ key: 'k', request: (vars) => ({ url: URL_OF_TEST, ...vars }) });
  await note.mutate({});
  await client.configure({ lifetimeMs: 60_000 });
  await note.mutate({});
  await note.mutate({ expiresAt: 17 });
  await client.configure({ lifetimeMs: null });
  await note.mutate({});
  const [none, lifetime, given, back] = fake.entries.map(({ request }) => request.expiresAt);
  assert.deepEqual([none, lifetime, given], [undefined, clock.now() + 60_000, 17]);
  assert.equal(back, clock.now() + 14 * 24 * 3600 * 1000);
});
