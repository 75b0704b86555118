import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeSidecar } from '../src/testing.mjs';
import { ManualClock, URL_OF_TEST, deferred, makeClient, quiet } from './rig.mjs';

const request = () => ({ url: URL_OF_TEST });

/** A client with one definition `k`, configured unless told otherwise. */
async function start({ definition = {}, seed = [], configured = true, fake, clock } = {}) {
  const made = makeClient({ fake, clock });
  made.fake.seedUnacknowledged(seed);
  made.heard = [];
  made.note = made.client.define({
    key: 'k', request, onSuccess: (...given) => made.heard.push(['ok', ...given]),
    onError: (...given) => made.heard.push(['failed', ...given]), ...definition,
  });
  if (configured) await made.client.configure();
  await quiet();
  return made;
}
const outcome = (id, more) => ({ eventId: `event-${id}`, id, key: 'k', ...more });

test('B51: until configure nothing is read and nobody is subscribed', async () => {
  const { client, fake, heard } = await start({ seed: [outcome('a')], configured: false });
  assert.deepEqual(fake.calls, []);
  await client.getRequests();
  assert.equal(fake.isSubscribed, false);
  assert.deepEqual(heard, []);
});

test('B52, A-DELIV-04: configure brings what waits, oldest first, deliveries 1; each is acked', async () => {
  const { fake, heard } = await start({ seed: [outcome('a'), outcome('b')] });
  assert.deepEqual(heard.map(([, , , meta]) => [meta.id, meta.deliveries]), [['a', 1], ['b', 1]]);
  assert.deepEqual(fake.ackedEventIds, ['event-a', 'event-b']);
  assert.deepEqual(fake.unacknowledged, []);
});

test('B53: configuring again changes settings, subscribes no second time and replays nothing', async () => {
  const { client, fake, note, heard } = await start({ seed: [outcome('a')] });
  await client.configure({ headers: () => ({ A: 'b' }) });
  await note.mutate();
  assert.equal(fake.calls.filter(({ method }) => method === 'subscribe').length, 1);
  assert.deepEqual(fake.entries[0].request.headers, { A: 'b' });
  assert.equal(heard.length, 1);
});

test('B54, B55: what settles during the replay comes behind it; later ones as they come', async () => {
  const gate = deferred();
  const order = [];
  const { fake } = await start({
    seed: [outcome('old')],
    definition: { onSuccess: async (response, vars, { id }) => order.push(id) && gate.promise },
  });
  fake.seedRows([{ id: 'live', key: 'k' }]);
  const live = fake.settle('live');
  await quiet();
  assert.deepEqual(order, ['old', 'live']);
  gate.resolve();
  await live;
});

test('B56: when the subscription fails, a warning; it is tried again, and outcomes come', async () => {
  const fake = createFakeSidecar();
  fake.failNext('subscribe');
  fake.failNext('subscribe');
  const { clock, heard, warnings } = await start({ fake, seed: [outcome('a')] });
  assert.equal(warnings.length, 1);
  assert.match(warnings[0], /subscription failed/);
  clock.advance(1000);
  await quiet();
  clock.advance(1999);
  await quiet();
  assert.deepEqual([warnings.length, heard.length], [2, 0]);
  clock.advance(1);
  await quiet();
  assert.equal(heard.length, 1);
});

test('B57: an outcome that comes again, in hand or acknowledged, is handled once', async () => {
  const gate = deferred();
  let times = 0;
  const definition = { onSuccess: () => ++times && gate.promise };
  const { fake } = await start({ definition, seed: [outcome('a')] });
  const again = fake.unacknowledged[0];
  fake.emit.settled(again);
  gate.resolve();
  await quiet();
  assert.deepEqual(fake.ackedEventIds, ['event-a']);
  fake.emit.settled(again);
  await quiet();
  assert.equal(times, 1);
  assert.deepEqual(fake.ackedEventIds, ['event-a']);
});

test('B58: an event without eventId is dropped with a warning', async () => {
  const { fake, heard, warnings } = await start();
  fake.emit.settled({ id: 'a', key: 'k', kind: 'completed' });
  await quiet();
  assert.equal(warnings.length, 1);
  assert.deepEqual([heard, fake.ackedEventIds, fake.releasedEventIds], [[], [], []]);
});

test('B13, B59, B96: an outcome waits for the mutate of its id, its handler for the caller', async () => {
  const order = [];
  const { fake, note } = await start({ definition: { onSuccess: () => order.push('handler') } });
  const release = fake.holdNext('enqueue');
  fake.seedRows([{ id: 'a', key: 'k' }]);
  const mutated = note.mutate(null, { id: 'a' }).then(() => order.push('caller'));
  await quiet();
  fake.settle('a').then(() => order.push('acknowledged'));
  await quiet();
  assert.deepEqual([order, fake.ackedEventIds], [[], []]);
  release();
  await mutated;
  await quiet();
  assert.deepEqual(order, ['caller', 'handler', 'acknowledged']);
});

test('A-DELIV-05, B60: five hundred answers quicker than mutate: each handler behind it', async () => {
  const known = new Set();
  const early = [];
  const { fake, note } = await start({
    definition: { onSuccess: (response, vars, { id }) => known.has(id) || early.push(id) },
  });
  const call = fake.call.bind(fake);
  fake.call = async (method, params) => {
    const answer = await call(method, params);
    // The outcome is on the wire before anybody looked at the answer.
    if (method === 'enqueue') fake.settle(answer.id);
    return answer;
  };
  await Promise.all(Array.from({ length: 500 }, async (_, index) => {
    const { id } = await note.mutate(null, { id: `n${index}` });
    // The caller's own code may take a few more steps before it is through.
    for (let step = 0; step < 20; step++) await null;
    known.add(id);
  }));
  await quiet();
  assert.deepEqual(early, []);
  assert.equal(fake.ackedEventIds.length, 500);
});

test('B61, B26: a mutate that was refused does not keep the outcome back', async () => {
  const { fake, note, heard } = await start();
  fake.seedRows([{ id: 'a', key: 'k' }]);
  fake.failNext('enqueue', 'E_RUNNING');
  await assert.rejects(note.mutate(null, { id: 'a' }));
  await fake.settle('a');
  assert.equal(heard.length, 1);
});

test('B62: an open mutate of another id delays nothing', async () => {
  const { fake, note, heard } = await start();
  fake.seedRows([{ id: 'b', key: 'k' }]);
  const release = fake.holdNext('enqueue');
  const open = note.mutate(null, { id: 'a' });
  await fake.settle('b');
  assert.deepEqual(heard.map(([, , , { id }]) => id), ['b']);
  release();
  await open;
});

test('B63: handlers of one id run one after the other in order; other ids do not wait', async () => {
  const gates = { a1: deferred(), a2: deferred(), b1: deferred() };
  const order = [];
  const { fake } = await start({
    definition: {
      onSuccess: async (response, { name }) => {
        order.push(`+${name}`);
        await gates[name].promise;
        order.push(`-${name}`);
      },
    },
  });
  for (const [id, name] of [['a', 'a1'], ['a', 'a2'], ['b', 'b1']]) {
    fake.emit.settled(fullOutcome({ eventId: name, id, vars: { name } }));
  }
  await quiet();
  assert.deepEqual(order, ['+a1', '+b1']);
  gates.b1.resolve();
  await quiet();
  gates.a1.resolve();
  await quiet();
  assert.deepEqual(order, ['+a1', '+b1', '-b1', '-a1', '+a2']);
  gates.a2.resolve();
  await quiet();
  assert.deepEqual(fake.ackedEventIds, ['b1', 'a1', 'a2']);
});

function fullOutcome(more) {
  return {
    eventId: 'e', id: 'a', key: 'k', vars: null, at: 17, generation: 1, attempts: 1, deliveries: 1,
    state: 'completed', bytesSent: 0, totalBytes: 0, url: URL_OF_TEST, method: 'POST', kind: 'completed',
    response: { status: 200, headers: {}, body: '', bodyTruncated: false }, ...more,
  };
}

test('B64, D40: after a handler failed the next of that id runs; the failed one is released', async () => {
  const { fake, warnings } = await start({
    definition: { onSuccess: (response, { fail }) => fail && Promise.reject(new Error('no')) },
  });
  fake.emit.settled(fullOutcome({ eventId: 'bad', vars: { fail: true } }));
  fake.emit.settled(fullOutcome({ eventId: 'good', vars: { fail: false } }));
  await quiet();
  assert.deepEqual([fake.ackedEventIds, fake.releasedEventIds], [['good'], ['bad']]);
  assert.equal(warnings.length, 1);
});

test('B65: a malformed event causes one warning for its eventId and nothing else', async () => {
  const { client, fake, heard, warnings } = await start();
  const rows = [];
  client.addListener('state', (row) => rows.push(row));
  for (const wrong of [{ id: undefined }, { key: 7 }, { kind: undefined }]) {
    const event = fullOutcome({ eventId: `bad-${Object.keys(wrong)}`, ...wrong });
    fake.emit.settled(event);
    fake.emit.settled(event);
  }
  await quiet();
  assert.equal(warnings.length, 3);
  assert.deepEqual([heard, rows, fake.ackedEventIds, fake.releasedEventIds], [[], [], [], []]);
});

test('B66: a cancelled outcome is acked without a handler, whatever its key, and makes no row', async () => {
  const { client, fake, heard, warnings } = await start();
  const rows = [];
  client.addListener('state', (row) => rows.push(row));
  for (const key of ['k', 'nobody']) {
    const { response, ...rest } = fullOutcome({ eventId: key, key, state: 'cancelled', kind: 'cancelled' });
    fake.emit.settled({ ...rest, cancelReason: 'user' });
  }
  await quiet();
  assert.deepEqual(fake.ackedEventIds, ['k', 'nobody']);
  assert.deepEqual([heard, rows, warnings], [[], [], []]);
});

test('B67, B68, A-DELIV-03: unknown key: a row, a warning, a release; defined later, it runs', async () => {
  const { client, fake, heard, warnings } = await start();
  const rows = [];
  client.addListener('state', (row) => rows.push(row));
  fake.seedUnacknowledged([{
    eventId: 'lost', id: 'x', key: 'old.key', vars: { n: 1 }, kind: 'error', attempts: 3, at: 17,
    bytesSent: undefined, totalBytes: undefined,
  }]);
  await client.redeliver();
  await quiet();
  assert.deepEqual(rows, [{
    id: 'x', key: 'old.key', vars: { n: 1 }, state: 'error', bytesSent: 0, totalBytes: 0, attempts: 3,
    updatedAt: 17, reason: 'unhandled-key',
  }]);
  assert.match(warnings[0], /old\.key/);
  assert.deepEqual([fake.ackedEventIds, fake.releasedEventIds], [[], ['lost']]);
  client.define({ key: 'old.key', request, onError: (error, vars) => heard.push([error.errorKind, vars]) });
  await client.redeliver();
  await quiet();
  assert.deepEqual(heard, [['http', { n: 1 }]]);
  assert.deepEqual(fake.ackedEventIds, ['lost']);
});

test('D40: an unknown kind is released with a warning; unknown states and errorKinds pass', async () => {
  const { fake, heard, warnings } = await start();
  fake.emit.settled(fullOutcome({ eventId: 'odd', kind: 'postponed' }));
  const error = { errorKind: 'quota', message: 'm' };
  fake.emit.settled(fullOutcome({ eventId: 'new', id: 'b', kind: 'error', state: 'broken', error }));
  await quiet();
  assert.deepEqual([fake.releasedEventIds, fake.ackedEventIds], [['odd'], ['new']]);
  assert.match(warnings[0], /postponed/);
  assert.equal(heard[0][1].errorKind, 'quota');
});

test('B81: an ack that fails is a warning; brought again, the outcome is acked, not handled', async () => {
  const { client, fake, heard, warnings } = await start();
  fake.failNext('ackEvents');
  fake.seedUnacknowledged([outcome('a')]);
  await client.redeliver();
  await quiet();
  assert.deepEqual([heard.length, warnings.length, fake.ackedEventIds.length], [1, 1, 0]);
  assert.match(warnings[0], /acknowledged/);
  fake.emit.settled(fake.unacknowledged[0]);
  await quiet();
  assert.deepEqual([heard.length, fake.ackedEventIds], [1, ['event-a']]);
});

test('B82: a handler over 30 s is warned about once, acked when it ends; a quick one never', async () => {
  const gate = deferred();
  const { fake, clock, warnings } = await start({ definition: { onSuccess: () => gate.promise } });
  fake.emit.settled(fullOutcome({ eventId: 'slow' }));
  await quiet();
  clock.advance(29_999);
  assert.deepEqual(warnings, []);
  clock.advance(1);
  clock.advance(60_000);
  assert.equal(warnings.length, 1);
  gate.resolve();
  await quiet();
  assert.deepEqual(fake.ackedEventIds, ['slow']);
  fake.emit.settled(fullOutcome({ eventId: 'quick' }));
  await quiet();
  assert.equal(clock.waiting, 0);
  assert.equal(warnings.length, 1);
});

test('A-DELIV-02: a handler that always throws gets it once a launch, and holds up nobody', async () => {
  const fake = createFakeSidecar();
  const seen = [];
  for (let launch = 0; launch < 3; launch++) {
    const { heard } = await start({
      fake, clock: new ManualClock(), configured: false,
      seed: launch === 0 ? [outcome('bad', { key: 'throws' }), outcome('good')] : [],
    }).then(async (made) => {
      made.client.define({
        key: 'throws', request, onSuccess: (response, vars, { deliveries }) => {
          seen.push(deliveries);
          throw new Error('always');
        },
      });
      await made.client.configure();
      await quiet();
      return made;
    });
    assert.equal(heard.length, launch === 0 ? 1 : 0);
  }
  assert.deepEqual(seen, [1, 2, 3]);
  assert.deepEqual(fake.unacknowledged.map(({ eventId }) => eventId), ['event-bad']);
});

test('redeliver brings back what a failing handler left, in the same process', async () => {
  let works = false;
  const { client, fake } = await start({
    seed: [outcome('a')],
    definition: {
      onSuccess: () => {
        if (!works) throw new Error('not yet');
      },
    },
  });
  assert.deepEqual(fake.ackedEventIds, []);
  works = true;
  await client.redeliver();
  await quiet();
  assert.deepEqual(fake.ackedEventIds, ['event-a']);
});
