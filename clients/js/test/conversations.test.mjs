import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { Connection } from '../src/connection.js';
import { METHODS } from '../src/protocol.js';

const FOLDER = new URL('../../../protocol/conversations/', import.meta.url);
const names = readdirSync(FOLDER, { withFileTypes: true }).flatMap((entry) => (
  entry.isDirectory() ? readdirSync(new URL(`${entry.name}/`, FOLDER)).map((name) => `${entry.name}/${name}`)
    : [entry.name])).filter((name) => name.endsWith('.jsonl'));

/** The lines of a conversation as [mark, text]. */
function read(name) {
  const lines = readFileSync(new URL(name, FOLDER), 'utf8').split('\n');
  return lines.filter((line) => line && !line.startsWith('#')).map((line) => {
    const [mark] = line.split(' ', 1);
    return [mark, line.slice(mark.length + 1)];
  });
}

const samples = { int: 17, string: 'text', any: null };

/** A value in the place of each wildcard, and of each name that stands for an earlier value. */
function fill(value) {
  if (Array.isArray(value)) return value.map(fill);
  if (value !== null && typeof value === 'object') {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, fill(each)]));
  }
  if (typeof value !== 'string') return value;
  const wildcard = /^\?(?:(int|string|any)|has (.+?))(?::[a-z]\w*)?$/s.exec(value);
  return wildcard ? wildcard[2] ?? samples[wildcard[1]] : value;
}

/** The request in a line, when this client could have sent it. */
function requestIn(text) {
  try {
    const frame = JSON.parse(text);
    const isSound = METHODS.includes(frame.method) && frame.jsonrpc === '2.0' && 'id' in frame
      && typeof (frame.params ?? {}) === 'object' && !Array.isArray(frame.params);
    return isSound ? frame : null;
  } catch {
    return null;
  }
}

/** Plays one conversation through a connection, the sidecar's lines cut into pieces of this many bytes. */
async function play(name, size) {
  const heard = { events: [], noise: 0 };
  const expected = { events: [], noise: 0, answers: 0 };
  let sent;
  const connection = new Connection({
    send: (frame) => {
      sent = JSON.parse(frame);
    },
    onNotification: (method, params) => heard.events.push({ method, params }),
    onNoise: () => {
      heard.noise += 1;
    },
  });
  const calls = new Map();
  const receive = (frame) => {
    const bytes = Buffer.from(`${JSON.stringify(frame)}\n`);
    for (let at = 0; at < bytes.length; at += size) connection.receive(bytes.subarray(at, at + size));
  };
  for (const [mark, text] of read(name)) {
    if (mark === '>') {
      const request = requestIn(text);
      if (!request || calls.has(request.id)) continue;
      const call = connection.call(request.method, request.params);
      calls.set(request.id, { id: sent.id, call: call.catch((error) => ({ error })) });
      assert.deepEqual({ ...sent, id: request.id }, { params: {}, ...request });
      continue;
    }
    const frame = fill(JSON.parse(text));
    const known = calls.get(frame.id);
    if (frame.method) expected.events.push({ method: frame.method, params: frame.params });
    else if (!known) expected.noise += 1;
    // An answer to a line that this client would not have written answers none of its calls.
    receive(frame.method ? frame : { ...frame, id: known?.id ?? null });
    if (!known) continue;
    calls.delete(frame.id);
    expected.answers += 1;
    const answer = await known.call;
    if (frame.error) assert.equal(answer.error.code, frame.error.data.code);
    else assert.deepEqual(answer, frame.result);
  }
  assert.deepEqual(heard.events, expected.events);
  assert.equal(heard.noise, expected.noise);
  assert.equal(connection.pendingCount, calls.size);
  return expected.answers + expected.events.length + expected.noise;
}

test('there are conversations to play', () => assert.ok(names.length >= 5));

for (const name of names) {
  test(`A-RPC-07: the conversation ${name} is understood, whole and byte by byte`, async () => {
    for (const size of [1 << 20, 1, 7]) assert.ok(await play(name, size) > 0);
  });
}
