import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Connection } from '../src/connection.js';
import { CallError, ClientError } from '../src/index.mjs';

const STREAM = Buffer.from([
  '{"jsonrpc":"2.0","method":"state","params":{"name":"\u{1F600} smile"}}\n',
  '\n',
  '{"jsonrpc":"2.0","id":1,"result":{"separators":"a\u2028b\u2029c\u0085d\\u000be"}}\r\n',
  '{"jsonrpc":"2.0","method":"progress","params":{"bytesSent":9007199254740991}}\n',
].join(''));

function listen() {
  const heard = { sent: [], events: [], noise: [] };
  const connection = new Connection({
    send: (frame) => heard.sent.push(frame.toString('utf8')),
    onNotification: (method, params) => heard.events.push([method, params]),
    onNoise: (line, why) => heard.noise.push([line.toString('utf8'), why]),
  });
  return { connection, heard };
}

async function readsWhole(pieces) {
  const { connection, heard } = listen();
  const answer = connection.call('echo', {});
  for (const piece of pieces) connection.receive(piece);
  assert.deepEqual(await answer, { separators: 'a\u2028b\u2029c\u0085d\u000be' });
  assert.deepEqual(heard.events, [
    ['state', { name: '\u{1F600} smile' }],
    ['progress', { bytesSent: Number.MAX_SAFE_INTEGER }],
  ]);
  assert.deepEqual(heard.noise, []);
}

test('A-RPC-07, A-RPC-05: a stream cut at any byte reads the same; only byte 0x0A ends a line', async () => {
  for (let cut = 0; cut <= STREAM.length; cut++) {
    await readsWhole([STREAM.subarray(0, cut), STREAM.subarray(cut)]);
  }
});

test('A-RPC-07: a stream that comes byte by byte, or in one piece, reads the same', async () => {
  await readsWhole([...STREAM].map((byte) => Buffer.from([byte])));
  await readsWhole([STREAM]);
});

test('A-RPC-06: a line of 10 MB in 8 KiB chunks costs time that grows with its length only', async () => {
  const { connection } = listen();
  const answer = connection.call('long');
  const line = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":"${'x'.repeat(10_000_000)}"}\n`);
  const from = process.cpuUsage();
  for (let at = 0; at < line.length; at += 8192) connection.receive(line.subarray(at, at + 8192));
  const { user } = process.cpuUsage(from);
  assert.equal((await answer).length, 10_000_000);
  // Joining for each chunk copies 6 GB here, which takes seconds.
  assert.ok(user < 1_000_000, `took ${user} us of processor time`);
});

test('answers find their calls in any order', async () => {
  const { connection, heard } = listen();
  const [first, second] = [connection.call('a', { x: 1 }), connection.call('b')];
  assert.deepEqual(heard.sent.map((line) => JSON.parse(line)), [
    { jsonrpc: '2.0', id: 1, method: 'a', params: { x: 1 } },
    { jsonrpc: '2.0', id: 2, method: 'b', params: {} },
  ]);
  assert.ok(heard.sent.every((line) => line.endsWith('\n') && line.indexOf('\n') === line.length - 1));
  connection.receive(Buffer.from('{"id":2,"result":"second"}\n{"id":1,"result":"first"}\n'));
  assert.deepEqual(await Promise.all([first, second]), ['first', 'second']);
  assert.equal(connection.pendingCount, 0);
});

test('an error frame rejects with its data.code, number, path and the method', async () => {
  const { connection } = listen();
  const call = connection.call('enqueue');
  connection.receive(Buffer.from(
    '{"id":1,"error":{"code":-32602,"message":"no url",'
    + '"data":{"code":"E_INVALID","path":"request.url"}}}\n'));
  await assert.rejects(call, (error) => {
    assert.ok(error instanceof CallError);
    assert.deepEqual(
      [error.code, error.rpcCode, error.path, error.method],
      ['E_INVALID', -32602, 'request.url', 'enqueue']);
    return true;
  });
});

for (const [what, line] of [
  ['text', 'Starting up...'],
  ['a number', '17'],
  ['an answer to nobody', '{"id":99,"result":{}}'],
  ['an answer without id', '{"id":null,"error":{"code":-32700,"message":"?"}}'],
]) {
  test(`A-RPC-11: ${what} on stdout is reported once and skipped`, async () => {
    const { connection, heard } = listen();
    const call = connection.call('ping');
    connection.receive(Buffer.from(`${line}\n{"id":1,"result":"pong"}\n`));
    assert.equal(await call, 'pong');
    assert.equal(heard.noise.length, 1);
    assert.equal(heard.noise[0][0], line);
  });
}

test('bytes that are no UTF-8 are reported, not repaired', async () => {
  const { connection, heard } = listen();
  const call = connection.call('ping');
  connection.receive(Buffer.from('{"id":1,"result":"\xff\xfe"}\n', 'latin1'));
  assert.equal(heard.noise.length, 1);
  assert.equal(connection.pendingCount, 1);
  connection.receive(Buffer.from('{"id":1,"result":"pong"}\n'));
  assert.equal(await call, 'pong');
});

test('a line over maxLine is refused here, with nothing sent', async () => {
  const { connection, heard } = listen();
  connection.maxLine = 200;
  await assert.rejects(
    connection.call('enqueue', { vars: 'x'.repeat(200) }),
    (error) => error instanceof ClientError && error.code === 'E_LINE_TOO_LONG');
  assert.deepEqual(heard.sent, []);
  assert.equal(connection.pendingCount, 0);
});

test('fail rejects every call that waits and every later one, with the same error', async () => {
  const { connection, heard } = listen();
  const waiting = Array.from({ length: 10 }, () => connection.call('never'));
  const death = new Error('gone');
  connection.fail(death);
  for (const call of waiting) await assert.rejects(call, death);
  await assert.rejects(connection.call('late'), death);
  assert.equal(heard.sent.length, 10);
});
