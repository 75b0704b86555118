import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fails, makeClient, quiet } from './rig.mjs';

const SERVER = 'https://api.test';

/** A client whose definition takes its whole request from vars, and what its handlers heard. */
async function start() {
  const made = makeClient();
  made.heard = [];
  made.step = made.client.define({
    key: 'k', request: ({ request = { url: SERVER } } = {}) => request,
    onSuccess: (response, vars, { id }) => made.heard.push(id),
    onError: ({ errorKind, message }, vars, { id, attempts }) => (
      made.heard.push(`${id} ${errorKind} ${attempts}: ${message}`)),
  });
  made.client.onGroupSettled(({ group, counts: { completed, error, cancelled } }) => (
    made.heard.push(`${group} ${completed} ${error} ${cancelled}`)));
  await made.client.configure();
  await quiet();
  made.add = (id, options, request) => made.step.mutate(request ? { request } : {}, { id, ...options });
  return made;
}
const body = (value) => ({ response: { body: JSON.stringify(value) } });

test('D45: an entry that waits cannot be settled as sent; it can expire and be cancelled', async () => {
  const { client, fake, heard, add } = await start();
  await add('p');
  await add('s', { after: ['p'] });
  await add('t', { after: ['s', 'p'] });
  await assert.rejects(fake.settle('s'), /the entry s cannot be sent: waits for p/);
  await assert.rejects(fake.settle('s', { kind: 'error' }), /cannot be sent/);
  assert.deepEqual(fake.rows.map(({ state }) => state), ['queued', 'queued', 'queued']);
  assert.deepEqual((await client.explain('t')).gates, [{ gate: 'dependency', detail: 'waits for s, p' }]);
  await fake.settle('p');
  await fake.settle('s', { kind: 'error', error: { errorKind: 'expired' } });
  await client.cancel('t');
  assert.deepEqual(heard, ['p', 's expired 1: made by the fake']);
});

test('D45: a failure leaves those that wait waiting, or settles them, one after the other', async () => {
  const { fake, heard, add } = await start();
  await add('p');
  await add('waits', { after: ['p'] });
  await add('ends', { after: ['p'], onFailure: 'settle' });
  await add('too', { after: ['ends'], onFailure: 'settle' });
  await fake.settle('p', { kind: 'error' });
  assert.deepEqual(heard, ['p http 1: made by the fake', 'ends dependency 0: p settled with an error',
    'too dependency 0: ends settled with an error']);
  await add('late', { after: ['p'], onFailure: 'settle' });
  await quiet();
  assert.equal(heard.at(-1), 'late dependency 0: p settled with an error');
  await add('p');
  await fake.settle('p');
  await fake.settle('waits');
  assert.deepEqual(heard.slice(-2), ['p', 'waits']);
});

test('D45: what a cancelled entry means for those that wait for it', async () => {
  const { client, heard, add, fake } = await start();
  await add('p');
  await add('waits', { after: ['p'] });
  await add('ends', { after: ['p'], onFailure: 'settle' });
  await client.cancel('p');
  await quiet();
  assert.deepEqual(heard, ['ends dependency 0: p was cancelled']);
  await assert.rejects(fake.settle('waits'), /waits for p/);
});

test('D45: unknown ids, an id twice and circles are refused, and nothing is taken', async () => {
  const { client, step, fake, add } = await start();
  await assert.rejects(add('a', { after: ['nobody'] }), fails('E_INVALID', /after\[0\]: names no entry/));
  await assert.rejects(add('one', { after: ['one'] }), fails('E_INVALID', /after\[0\]: .*itself/));
  const pipeline = client.pipeline();
  pipeline.add(step, {}, { id: 'x', after: ['z'] });
  pipeline.add(step, {}, { id: 'y', after: ['x'] });
  pipeline.add(step, {}, { id: 'z', after: ['y'] });
  await assert.rejects(pipeline.enqueue(), fails('E_INVALID', /entries\[0\]\.after: .*circle: z/));
  await add('one');
  await add('two', { after: ['one'] });
  await assert.rejects(add('one', { after: ['two'] }), fails('E_INVALID', /circle: two/));
  await assert.rejects(add('one', { after: ['one'] }), fails('E_INVALID', /after\[0\]: .*the entry itself/));
  assert.deepEqual(fake.rows.map(({ id }) => id), ['one', 'two']);
});

test('D46: values come from the settled answer, into url, headers and data', async () => {
  const { fake, add } = await start();
  const bind = {
    id: { entry: 'p', pointer: '/a~1b/0' }, all: { entry: 'p', pointer: '' },
    at: { entry: 'p', header: 'Location' },
  };
  await add('p');
  await add('s', { bind }, {
    url: `${SERVER}/{id}?at={at}`, headers: { 'X-Id': 'n {id}' }, data: [{ deep: { $bind: 'all' } }, '{id}'],
  });
  assert.throws(() => fake.requestOf('s'), /s cannot be sent: waits for p/);
  const answer = { 'a/b': ["x y/(é)"] };
  await fake.settle('p', { response: { body: JSON.stringify(answer), headers: { location: '/here' } } });
  assert.deepEqual(fake.requestOf('s'), {
    ...fake.entries[1].request, url: `${SERVER}/x%20y%2F%28%C3%A9%29?at=%2Fhere`,
    headers: { 'X-Id': 'n x y/(é)' }, data: [{ deep: answer }, '{id}'],
  });
  await fake.settle('s');
  assert.deepEqual(fake.rows, []);
  assert.throws(() => fake.requestOf('nobody'), /no entry nobody/);
});

test('D46: a value that is not there settles the entry, naming binding and answer', async () => {
  const { fake, heard, add } = await start();
  await add('p');
  await add('s', { bind: { id: { entry: 'p', pointer: '/id' } } }, { url: `${SERVER}/{id}` });
  await add('t', { bind: { id: { entry: 'p', header: 'Location' } } }, { url: `${SERVER}/{id}` });
  await fake.settle('p', body({ other: 1 }));
  assert.deepEqual(heard, ['p', 's dependency 0: bind.id: the answer of p has no /id',
    't dependency 0: bind.id: the answer of p has no Location']);
});

test('D46: a name that is not bound is refused where bind is given, and plain text elsewhere', async () => {
  const { fake, add } = await start();
  await add('p');
  const bind = { id: { entry: 'p', pointer: '/id' } };
  for (const [request, path] of [
    [{ url: `${SERVER}/{no}` }, 'request.url'],
    [{ url: SERVER, headers: { A: '{no}' } }, 'request.headers.A'],
    [{ url: SERVER, data: { a: [{ $bind: 'no' }] } }, 'request.data.a[0]'],
    [{ url: SERVER, data: { $bind: 'id', more: 1 } }, 'request.data'],
  ]) {
    await assert.rejects(add('s', { bind }, request), (error) => error.path === path);
  }
  await add('plain', {}, { url: `${SERVER}/{no}`, data: { $bind: 'no' } });
  assert.equal(fake.requestOf('plain').url, `${SERVER}/{no}`);
});

test('D47: one of a lane at a time, in order; a settled one lets the next go', async () => {
  const { client, fake, add } = await start();
  for (const id of ['a', 'b', 'c']) await add(id, { lane: 'l' });
  await add('free', { lane: 'm' });
  await fake.settle('free');
  await assert.rejects(fake.settle('b'), /a is in front of it in the lane l/);
  assert.equal((await client.explain('b')).gates[0].gate, 'lane');
  await fake.settle('a', { kind: 'error' });
  await add('a', { lane: 'l' });
  await assert.rejects(fake.settle('a'), /b is in front of it/);
  await fake.settle('b');
  await client.cancel('c');
  await fake.settle('a');
});

test('D48: a group settles with its last member, again when one joins; progress goes by weight', async () => {
  const { client, fake, heard, add } = await start();
  const progress = [];
  client.addListener('group', (status) => progress.push(status.progress));
  await quiet();
  await add('a', { group: 'g', weight: 3 });
  await add('b', { group: 'g', weight: 1 });
  await fake.settle('a');
  await fake.settle('b', { kind: 'error' });
  assert.deepEqual(heard, ['a', 'b http 1: made by the fake', 'g 1 1 0']);
  assert.deepEqual(progress, [0, 0, 0.75, 0.75]);
  await add('b', { group: 'g', weight: 1 });
  await fake.settle('b');
  assert.deepEqual(heard.slice(-2), ['b', 'g 2 0 0']);
  assert.equal(progress.at(-1), 1);
});

test('D48: cancelGroup settles the live members, and forgets a group that has none', async () => {
  const { client, fake, heard, add } = await start();
  client.onGroupSettled(() => {
    throw new Error('not now');
  });
  await add('a', { group: 'g' });
  await add('b', { group: 'g' });
  await fake.settle('a', { kind: 'error' });
  await client.cancelGroup('g');
  await quiet();
  assert.deepEqual(heard, ['a http 1: made by the fake']);
  const [{ counts }] = fake.unacknowledgedGroups;
  assert.deepEqual(counts, { completed: 0, error: 1, cancelled: 1 });
  assert.deepEqual(fake.rows.map(({ id }) => id), ['a']);
  await client.cancelGroup('g');
  assert.deepEqual([fake.rows, fake.unacknowledgedGroups], [[], []]);
});

test('D42: what others wait for keeps its row until theirs are gone', async () => {
  const { fake, add } = await start();
  await add('p');
  await add('s', { after: ['p'] });
  await fake.settle('p');
  assert.deepEqual(fake.rows.map(({ id, state }) => `${id} ${state}`), ['p completed', 's queued']);
  assert.equal((await add('p')).disposition, 'kept');
  const bind = { id: { entry: 'p', pointer: '/id' } };
  await assert.rejects(add('t', { bind }, { url: `${SERVER}/{id}` }),
    fails('E_INVALID', /bind\.id: .*answer was acknowledged/));
  await fake.settle('s');
  assert.deepEqual(fake.rows, []);
});
