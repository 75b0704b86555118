import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deferred, fails, makeClient, quiet } from './rig.mjs';

const SERVER = 'https://api.test';

/** A client with the definitions of an observation, and what its handlers heard. */
async function start({ configured = true, groups = true, ...rest } = {}) {
  const made = makeClient(rest);
  made.heard = [];
  const define = (key, request) => made.client.define({
    key, request, onSuccess: (response, vars, { id }) => made.heard.push(id),
    onError: ({ errorKind, message }, vars, { id }) => made.heard.push(`${id} ${errorKind}: ${message}`),
  });
  made.photo = define('photo', () => ({ url: `${SERVER}/photos`, data: { a: 1 } }));
  made.observation = define('observation', () => ({ url: `${SERVER}/observations`, data: {} }));
  made.attach = define('attach', (vars, bound) => ({
    url: `${SERVER}/observations/${bound.observation}/photos`, headers: { 'X-Photo': `${bound.photo}` },
    data: { photo_id: bound.photo, list: [bound.observation] },
  }));
  if (groups) made.client.onGroupSettled((outcome) => made.heard.push(outcome));
  if (configured) await made.client.configure();
  await quiet();
  return made;
}

/** A photo, then the observation, then what joins them. */
function build({ client, photo, observation, attach }, options) {
  const pipeline = client.pipeline({ group: 'g', ...options });
  const one = pipeline.add(photo, null, { id: 'p', weight: 0.5 });
  const seen = pipeline.add(observation, null, { id: 'o', after: [one], lane: 'observations' });
  const both = { observation: seen.pointer('/id'), photo: one.pointer('/id') };
  pipeline.add(attach, null, { id: 'a', bind: both });
  return pipeline;
}
const body = (value) => ({ response: { body: JSON.stringify(value) } });

test('D50: nothing is sent before enqueue, then one call with all; the rows come by step', async () => {
  const made = await start();
  const pipeline = build(made, { onFailure: 'settle', groupDeadlineMs: 5 });
  await quiet();
  assert.deepEqual(made.fake.entries, []);
  const accepted = await pipeline.enqueue();
  const calls = made.fake.calls.filter(({ method }) => method.startsWith('enqueue'));
  assert.deepEqual(calls.map(({ method }) => method), ['enqueueAll']);
  const { entries: [photo, observation, attach] } = calls[0].params;
  const rules = { onFailure: 'settle', groupDeadlineMs: 5, group: 'g' };
  assert.deepEqual(photo, { ...rules, id: 'p', key: 'photo', vars: null, weight: 0.5,
    request: { url: `${SERVER}/photos`, data: { a: 1 } } });
  const { after, lane, weight } = observation;
  assert.deepEqual([after, lane, weight], [['p'], 'observations', undefined]);
  assert.deepEqual(attach.bind, {
    observation: { entry: 'o', pointer: '/id' }, photo: { entry: 'p', pointer: '/id' } });
  assert.deepEqual([...accepted.keys()], pipeline.steps);
  assert.deepEqual([...accepted].map(([step, { id, disposition, row }]) => (
    step.id === id && [id, disposition, row.state, row.group])), [
    ['p', 'created', 'queued', 'g'], ['o', 'created', 'queued', 'g'], ['a', 'created', 'queued', 'g']]);
});

test('D50: ids are made by the client, so that enqueue may be repeated after a death', async () => {
  const made = await start();
  const pipeline = made.client.pipeline();
  const step = pipeline.add(made.photo);
  made.fake.holdNext('enqueueAll');
  const lost = pipeline.enqueue();
  await quiet();
  made.fake.crash();
  await assert.rejects(lost, fails('E_SIDECAR_EXITED'));
  await pipeline.enqueue();
  assert.deepEqual(made.fake.entries.map(({ id }) => id), [step.id]);
  assert.throws(() => pipeline.add(made.photo), fails('E_INVALID', /is enqueued, begin another/));
});

test('D50: a step is checked when it is added, and the pipeline before anything is sent', async () => {
  const made = await start();
  const { client, photo, fake } = made;
  const pipeline = client.pipeline({ group: 'g' });
  const stranger = (await start()).photo;
  assert.throws(() => pipeline.add(stranger), fails('E_INVALID', /what define of this client gave/));
  assert.throws(() => pipeline.add({ ...photo }), fails('E_INVALID', /^definition/));
  assert.throws(() => pipeline.add(undefined), fails('E_INVALID', /^definition/));
  pipeline.add(photo, null, { id: 'p' });
  assert.throws(() => pipeline.add(photo, null, { id: 'p' }), fails('E_INVALID', /that of another step: p/));
  assert.throws(() => pipeline.add(photo, 5), fails('E_INVALID', /^vars/));
  assert.throws(() => pipeline.add(photo, null, null), fails('E_INVALID', /^pipeline.add: /));
  assert.throws(() => client.pipeline({ id: 'x' }), fails('E_INVALID', /^pipeline: id is not a field/));
  await assert.rejects(client.pipeline().enqueue(), fails('E_INVALID', /no step/));
  assert.deepEqual(fake.entries, []);
});

const at = { entry: 'p', pointer: '' };
for (const [options, path] of [
  [{ weight: 0 }, 'weight'], [{ weight: 2e9 }, 'weight'], [{ deadlineMs: 0 }, 'deadlineMs'],
  [{ lane: '' }, 'lane'], [{ group: 5 }, 'group'], [{ onFailure: 'stop' }, 'onFailure'],
  [{ groupDeadlineMs: 5 }, 'groupDeadlineMs'], [{ after: 'p' }, 'after'], [{ after: [{}] }, 'after[0].id'],
  [{ after: ['p', 5] }, 'after[1]'], [{ bind: { '1a': at } }, 'bind.1a'],
  [{ bind: { 'a-b': at } }, 'bind.a-b'],
  [{ bind: { a: { entry: 'p' } } }, 'bind.a'], [{ bind: { a: { ...at, header: 'X' } } }, 'bind.a'],
  [{ bind: { a: { entry: 'p', pointer: 'id' } } }, 'bind.a.pointer'], [{ bind: [at] }, 'bind'],
  [{ bind: { a: { pointer: '' } } }, 'bind.a.entry'], [{ bind: { a: { ...at, x: 1 } } }, 'bind.a.x'],
]) {
  test(`D45 to D49: mutate refuses ${JSON.stringify(options)}, naming ${path}`, async () => {
    const { photo, fake } = await start();
    await assert.rejects(photo.mutate(null, options), (error) => (
      error.code === 'E_INVALID' && error.path === path));
    assert.deepEqual(fake.entries, []);
  });
}

test('D45, D46: mutate takes the same; after takes what has an id', async () => {
  const { photo, attach, fake } = await start();
  const first = await photo.mutate(null, { id: 'p' });
  await attach.mutate(null, {
    after: [first, 'p'], lane: 'l', weight: 2,
    bind: { observation: { entry: 'p', pointer: '/id' }, photo: { entry: 'p', header: 'Location' } },
  });
  const [, { after, lane, weight, request }] = fake.entries;
  assert.deepEqual([after, lane, weight], [['p', 'p'], 'l', 2]);
  assert.deepEqual(request, {
    url: `${SERVER}/observations/{observation}/photos`, headers: { 'X-Photo': '{photo}' },
    data: { photo_id: { $bind: 'photo' }, list: [{ $bind: 'observation' }] },
  });
});

test('D46: a name that request uses and bind lacks is an error, with bind and without', async () => {
  const { attach, fake } = await start();
  await assert.rejects(attach.mutate(), (error) => error.path === 'bind.observation');
  const bind = { observation: { entry: 'p', pointer: '/id' } };
  await assert.rejects(attach.mutate(null, { bind }), (error) => error.path === 'bind.photo');
  assert.deepEqual(fake.entries, []);
});

test('D46: a bound value that was percent-encoded would be sent as text, so it is refused', async () => {
  const { client, fake } = await start();
  const bind = { a: { entry: 'p', pointer: '' } };
  const given = { url: SERVER, file: '/f', parts: [{ range: { start: 0, end: 1 } }] };
  for (const [request, path] of [
    [({ a }) => ({ url: `${SERVER}/${encodeURIComponent(a)}` }), 'request.url'],
    [({ a }) => ({ url: String(new URL(`/x/${a}`, SERVER)) }), 'request.url'],
    [({ a }) => ({ ...given, parts: [{ ...given.parts[0], url: encodeURI(`${SERVER}/${a}`) }] }),
      'request.parts[0].url'],
  ]) {
    const step = client.define({ key: path, request: (vars, bound) => request(bound) });
    await assert.rejects(step.mutate(null, { bind }), (error) => error.path === path);
    client.define({ key: path, request: () => ({ url: SERVER }) });
  }
  assert.deepEqual(fake.entries, []);
});

test('D50: an error of the sidecar names the step by its place, and nothing of it is taken', async () => {
  const { client, photo, fake } = await start();
  const pipeline = client.pipeline();
  pipeline.add(photo);
  pipeline.add(photo, null, { after: ['nobody'] });
  await assert.rejects(pipeline.enqueue(), (error) => {
    assert.deepEqual([error.code, error.path], ['E_INVALID', 'entries[1].after[0]']);
    return true;
  });
  assert.deepEqual([fake.rows, fake.entries], [[], []]);
});

test('D48: handlers run after enqueue has resolved, and the group after those of its members', async () => {
  const made = await start();
  const gate = deferred();
  const order = [];
  made.client.define({ key: 'observation', request: () => ({ url: SERVER }), onSuccess: async () => {
    await gate.promise;
    order.push('o');
  } });
  made.client.onGroupSettled(({ group }) => order.push(group));
  made.fake.seedRows([{ id: 'o', key: 'observation', group: 'g' }]);
  const settled = made.fake.settle('o');
  await quiet();
  assert.deepEqual(order, []);
  gate.resolve();
  await settled;
  assert.deepEqual(order, ['o', 'g']);
  assert.deepEqual(made.fake.ackedEventIds.length, 2);
});

test('D48: the outcome of a group, acked behind its handler; meta names the group', async () => {
  const made = await start();
  const metas = [];
  made.client.define({ key: 'photo', request: () => ({ url: SERVER }), onSuccess: (response, vars, meta) => {
    metas.push(meta.group);
  } });
  await made.photo.mutate(null, { id: 'p', group: 'g' });
  await made.photo.mutate(null, { id: 'q', group: 'g' });
  await made.fake.settle('p');
  assert.deepEqual(made.heard, []);
  await made.fake.settle('q', { kind: 'error' });
  const [{ at: when, ...outcome }] = made.heard.slice(-1);
  assert.ok(when > 0);
  assert.deepEqual(outcome, { group: 'g', generation: 1, deliveries: 1, failed: ['q'],
    counts: { completed: 1, error: 1, cancelled: 0 } });
  assert.deepEqual([metas, made.fake.unacknowledgedGroups], [['g'], []]);
});

test('D48: a group handler that fails is warned about; redeliver brings its outcome again', async () => {
  const made = await start({ groups: false, configured: false });
  let times = 0;
  made.client.onGroupSettled(() => {
    times += 1;
    if (times === 1) throw new Error('disk full');
  });
  await made.client.configure();
  await made.photo.mutate(null, { id: 'p', group: 'g' });
  await assert.rejects(made.fake.settle('p'), /the group g was not acknowledged: the client released it/);
  assert.match(made.warnings.at(-1), /handler of the group g failed, its outcome is released: disk full/);
  assert.equal(made.fake.unacknowledgedGroups.length, 1);
  await made.client.redeliver();
  await quiet();
  assert.deepEqual([times, made.fake.unacknowledgedGroups], [2, []]);
});

test('D48: outcomes of one group one at a time; the slow are warned of, the malformed dropped', async () => {
  const made = await start({ groups: false, configured: false });
  const gate = deferred();
  const begun = [];
  made.client.onGroupSettled(({ group, generation }) => {
    begun.push(`${group}${generation}`);
    return gate.promise;
  });
  await made.client.configure();
  const settled = (group, generation) => made.fake.emit.groupSettled({
    eventId: `${group}${generation}`, group, generation, counts: { completed: 1, error: 0, cancelled: 0 } });
  settled('g', 1);
  settled('g', 2);
  settled('h', 1);
  settled('g', 1);
  settled('', 1);
  await quiet();
  assert.deepEqual(begun, ['g1', 'h1']);
  made.clock.advance(30_000);
  assert.match(made.warnings.join('\n'), /the outcome 1 is malformed[^]*the group g has taken 30 s/);
  gate.resolve();
  await quiet();
  assert.deepEqual(begun, ['g1', 'h1', 'g2']);
  assert.deepEqual(made.fake.ackedEventIds.sort(), ['g1', 'g2', 'h1']);
});

test('D42, D48: without a handler a group leaves nothing; later ones reach a new handler', async () => {
  const made = await start({ groups: false });
  const gate = deferred();
  made.client.define({ key: 'photo', request: () => ({ url: SERVER }), onSuccess: () => gate.promise });
  await made.photo.mutate(null, { id: 'p', group: 'g' });
  const settled = made.fake.settle('p');
  await quiet();
  assert.deepEqual([made.fake.ackedEventIds, made.fake.unacknowledgedGroups.length], [[], 1]);
  gate.resolve();
  await settled;
  assert.deepEqual([made.fake.ackedEventIds.length, made.fake.unacknowledgedGroups], [2, []]);
  assert.deepEqual([await made.client.getRequests(), made.warnings.slice(1)], [[], []]);
  made.client.onGroupSettled(({ group }) => made.heard.push(group));
  await made.photo.mutate(null, { id: 'q', group: 'h' });
  await made.fake.settle('q');
  assert.deepEqual(made.heard, ['h']);
});

const subscriptions = ({ calls }) => calls.filter(({ method }) => method === 'subscribe')
  .map(({ params }) => params.events.slice(4));

test('D48: progress of groups is asked for where somebody listens, also later', async () => {
  const { client, fake, warnings } = await start({ groups: false });
  assert.deepEqual(subscriptions(fake), [['groupSettled']]);
  client.onGroupSettled(() => {});
  client.addListener('group', () => {});
  client.addListener('group', () => {});
  await quiet();
  assert.deepEqual(subscriptions(fake), [['groupSettled'], ['groupSettled', 'group']]);
  client.onGroupSettled(() => {});
  assert.deepEqual(warnings, ['onGroupSettled was called again; the new handler counts']);
  assert.throws(() => client.onGroupSettled('x'), fails('E_INVALID', /handler must be a function/));
  const before = await start({ configured: false });
  const events = before.client.events('group');
  await before.client.configure();
  assert.deepEqual(subscriptions(before.fake), [['groupSettled', 'group']]);
  before.fake.emit.group({ group: 'g', progress: 0.1 });
  before.fake.emit.group({ group: 'h', progress: 0.3 });
  before.fake.emit.group({ group: 'g', progress: 0.2 });
  assert.equal((await events.next()).value.detail.group, 'h');
  assert.deepEqual((await events.next()).value, { event: 'group', detail: { group: 'g', progress: 0.2 } });
});

test('D48: pause, resume, cancel, getRequests and explain by group', async () => {
  const made = await start();
  const { client, fake } = made;
  await build(made).enqueue();
  await made.photo.mutate(null, { id: 'other' });
  const states = async () => (await client.getRequests()).map(({ id, state }) => `${id} ${state}`);
  await client.pause({ groups: ['g'] });
  assert.deepEqual(await states(), ['p paused', 'o paused', 'a paused', 'other queued']);
  await client.resume({ keys: ['photo'], groups: ['g'] });
  assert.deepEqual(await states(), ['p queued', 'o queued', 'a queued', 'other queued']);
  assert.deepEqual((await client.getRequests({ group: 'g' })).map(({ id, lane }) => [id, lane]),
    [['p', undefined], ['o', 'observations'], ['a', undefined]]);
  const { group, counts, entries } = await client.explainGroup('g');
  assert.deepEqual([group, counts.queued, entries.length], ['g', 3, 3]);
  assert.match(entries[1].gates[0].detail, /waits for p/);
  await client.cancelGroup('g');
  await quiet();
  assert.deepEqual(made.heard.map((each) => each.counts), [{ completed: 0, error: 0, cancelled: 3 }]);
  assert.deepEqual(fake.rows.map(({ id }) => id), ['other']);
  await assert.rejects(client.pause({ groups: undefined }), fails('E_INVALID', /pause: groups/));
  await assert.rejects(client.pause({ groups: 'g' }), fails('E_INVALID', /pause: groups/));
  await assert.rejects(client.cancelGroup(''), fails('E_INVALID', /cancelGroup: group/));
  await assert.rejects(client.explainGroup('g'), fails('E_INVALID', /names no group/));
  await assert.rejects(client.explainGroup(), fails('E_INVALID', /explainGroup: group/));
});

test('D42: a pipeline that is repeated runs nothing again until its group was acknowledged', async () => {
  const made = await start({ groups: false });
  const gate = deferred();
  made.client.onGroupSettled(() => gate.promise);
  await build(made).enqueue();
  await made.fake.settle('p', body({ id: 1 }));
  const dispositions = async () => {
    const accepted = await build(made).enqueue();
    return [...accepted.values()].map(({ disposition }) => disposition);
  };
  assert.deepEqual(await dispositions(), ['kept', 'replaced', 'replaced']);
  await made.fake.settle('o', body({ id: 2 }));
  const settled = made.fake.settle('a', body({}));
  await quiet();
  assert.deepEqual(await dispositions(), ['kept', 'kept', 'kept']);
  gate.resolve();
  await settled;
  await quiet();
  assert.deepEqual([made.fake.rows, made.fake.unacknowledgedGroups], [[], []]);
  assert.deepEqual(await dispositions(), ['created', 'created', 'created']);
});
