import assert from 'node:assert/strict';
import { test } from 'node:test';
import { URL_OF_TEST, makeClient, quiet } from './rig.mjs';

/** Settles one entry of a definition; gives what its handlers heard and what became of the outcome. */
async function settle(outcome, definition = {}, vars = { n: 1 }) {
  const { client, fake, warnings } = makeClient();
  const heard = [];
  const note = client.define({
    key: 'k', request: () => ({ url: URL_OF_TEST }), onSuccess: (...given) => heard.push(['ok', ...given]),
    onError: (...given) => heard.push(['failed', ...given]), ...definition,
  });
  await client.configure();
  const { id } = await note.mutate(vars, { id: 'note' });
  const refused = await fake.settle(id, outcome).then(() => null, (error) => error.message);
  await quiet();
  return { fake, heard, warnings, refused, acked: fake.ackedEventIds.length };
}
const answer = (body, more) => ({
  response: { status: 201, headers: { a: 'b' }, body, bodyTruncated: false, ...more },
});

test('B69, B83: without a parser onSuccess gets the raw response, vars and meta', async () => {
  const { heard, acked } = await settle({ ...answer('not json'), requestId: 'r', at: 17, attempts: 2 });
  assert.deepEqual(heard, [[
    'ok', { status: 201, headers: { a: 'b' }, body: 'not json', bodyTruncated: false }, { n: 1 },
    { id: 'note', key: 'k', at: 17, attempts: 2, requestId: 'r', deliveries: 1 }]]);
  assert.equal(acked, 1);
});

test('B70: a parser gets the decoded JSON and vars; its result goes to onSuccess; then the ack', async () => {
  const parsed = [];
  const response = (...given) => parsed.push(given) && 'parsed';
  const { heard, acked } = await settle(answer('{"id":7}'), { response });
  assert.deepEqual(parsed, [[{ id: 7 }, { n: 1 }]]);
  assert.deepEqual(heard[0].slice(0, 3), ['ok', 'parsed', { n: 1 }]);
  assert.equal(acked, 1);
});

test('B71: for a body that is empty or absent the parser gets undefined', async () => {
  for (const body of ['', undefined]) {
    const { heard } = await settle(answer(body), { response: (raw) => [raw] });
    assert.deepEqual(heard[0][1], [undefined]);
  }
});

test('B72: truncated and a parser: onError with truncated and response, no parser; acked', async () => {
  let parsed = 0;
  const { heard, acked } = await settle(answer('{"a', { bodyTruncated: true }), { response: () => ++parsed });
  const [[which, error, vars]] = heard;
  assert.deepEqual([which, error.errorKind, vars, parsed], ['failed', 'truncated', { n: 1 }, 0]);
  assert.equal(error.response.body, '{"a');
  assert.equal(acked, 1);
});

test('B73: truncated and no parser: onSuccess as it is', async () => {
  const { heard } = await settle(answer('{"a', { bodyTruncated: true }));
  assert.equal(heard[0][0], 'ok');
  assert.equal(heard[0][1].bodyTruncated, true);
});

test('B74: a parser that throws: onError with unknown and its message; acked', async () => {
  const boom = new Error('no such member');
  const response = () => {
    throw boom;
  };
  const { heard, acked } = await settle(answer('{}'), { response });
  const [[which, error]] = heard;
  assert.deepEqual([which, error.errorKind, error.message], ['failed', 'unknown', 'no such member']);
  assert.equal(error.cause, boom);
  assert.equal(acked, 1);
});

test('B75, D31: a body that is not JSON, or no text at all, and a parser: onError with unknown', async () => {
  for (const given of [answer('<html>'), answer(undefined, { bodyBase64: 'e30=' })]) {
    const { heard, acked } = await settle(given, { response: (raw) => raw });
    assert.deepEqual([heard[0][0], heard[0][1].errorKind, acked], ['failed', 'unknown', 1]);
  }
});

test('B76: without onSuccess, or onError, the outcome is acknowledged all the same', async () => {
  const none = { onSuccess: undefined, onError: undefined };
  assert.equal((await settle(answer('{}'), none)).acked, 1);
  const response = () => Promise.reject(new Error('x'));
  assert.equal((await settle(answer('{}'), { ...none, response })).acked, 1);
  assert.equal((await settle({ kind: 'error' }, none)).acked, 1);
});

test('B77, D43: an error goes to onError with error, its part, vars and meta, and is acked', async () => {
  const response = { status: 400, headers: {}, body: 'no', bodyTruncated: false };
  const error = { errorKind: 'http', message: 'status 400', response };
  const { heard, acked } = await settle({ kind: 'error', error, partIndex: 2 });
  assert.deepEqual(heard[0].slice(0, 3), ['failed', { ...error, partIndex: 2 }, { n: 1 }]);
  assert.equal(heard[0][3].id, 'note');
  assert.equal(acked, 1);
  assert.equal('partIndex' in (await settle({ kind: 'error', error })).heard[0][1], false);
});

test('B78: the acknowledgement waits for the handler\'s promise', async () => {
  const order = [];
  await settle(answer('{}'), {
    onSuccess: async () => {
      await quiet();
      order.push('handled');
    },
  }).then(({ fake }) => order.push(...fake.calls.map(({ method }) => method)));
  assert.deepEqual([order[0], order.at(-1)], ['handled', 'ackEvents']);
});

for (const [number, how, onSuccess] of [
  ['B79', 'rejects', () => Promise.reject(new Error('boom'))],
  ['B80', 'throws at once', () => {
    throw new Error('boom');
  }],
]) {
  test(`${number}: a handler that ${how} is not acknowledged, and a warning says so`, async () => {
    const { fake, acked, warnings, refused } = await settle(answer('{}'), { onSuccess });
    assert.equal(acked, 0);
    assert.equal(fake.releasedEventIds.length, 1);
    assert.match(warnings[0], /handler of k for note failed.*boom/);
    assert.match(refused, /not acknowledged: the client released it/);
  });
}

test('B83: meta tells deliveries; absent means 1', async () => {
  const { client, fake } = makeClient();
  const metas = [];
  client.define({ key: 'k', request: () => ({}), onSuccess: (response, vars, meta) => metas.push(meta) });
  fake.seedUnacknowledged([{ id: 'a', key: 'k', deliveries: 4, requestId: undefined }]);
  await client.configure();
  await quiet();
  fake.emit.settled({
    eventId: 'e', id: 'b', key: 'k', vars: null, at: 1, attempts: 1, kind: 'completed', response: {} });
  await quiet();
  assert.deepEqual(metas.map(({ deliveries }) => deliveries), [5, 1]);
  assert.equal('requestId' in metas[0], false);
});
