// The vectors of protocol/frames, which every client's connection replays.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { Connection } from '../src/connection.js';

const FOLDER = new URL('../../../protocol/frames/', import.meta.url);
const vectors = readdirSync(FOLDER).filter((name) => name.endsWith('.json')).flatMap((name) => (
  JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'))));

function expanded(value) {
  if (Array.isArray(value)) return value.map(expanded);
  if (value === null || typeof value !== 'object') return value;
  if (value.$repeat) return value.$repeat[0].repeat(value.$repeat[1]);
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, expanded(each)]));
}

const bytesOf = (chunk) => (typeof chunk === 'string' ? Buffer.from(chunk) : Buffer.from(chunk.hex, 'hex'));

/** What the connection reports; an answer is reported one promise later than an event. */
async function replay(calls, chunks) {
  const heard = { answers: [], others: [] };
  const connection = new Connection({
    send: () => {},
    onNotification: (event, params) => heard.others.push({ event, params }),
    onNoise: () => heard.others.push('noise'),
  });
  for (let answer = 1; answer <= calls; answer++) {
    const failed = ({ rpcCode: code, message, data }) => (
      { answer, error: { code, message: message.replace(/^ping: /, ''), data } });
    connection.call('ping').then((result) => ({ answer, result }), failed)
      .then((report) => heard.answers.push(report));
  }
  for (const chunk of chunks) connection.receive(chunk);
  await new Promise((resolve) => setImmediate(resolve));
  heard.answers.sort((a, b) => a.answer - b.answer);
  return heard;
}

for (const { name, calls = 0, ...vector } of vectors) {
  test(`frames: ${name}`, async () => {
    const chunks = expanded(vector.chunks).map(bytesOf);
    const whole = Buffer.concat(chunks);
    const reports = expanded(vector.heard);
    const expected = {
      // Promises that were answered before anybody awaited them go on in the order of their calls.
      answers: reports.filter((report) => 'answer' in report).sort((a, b) => a.answer - b.answer),
      others: reports.filter((report) => !('answer' in report))
        .map((report) => ('noise' in report ? 'noise' : report)),
    };
    assert.deepEqual(await replay(calls, chunks), expected);
    assert.deepEqual(await replay(calls, [whole]), expected);
    if (whole.length >= 2 ** 20) return;
    assert.deepEqual(await replay(calls, Array.from(whole, (byte) => Buffer.from([byte]))), expected);
  });
}
