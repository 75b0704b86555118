import assert from 'node:assert/strict';
import { test } from 'node:test';
import { news } from '../page/news.mjs';
import { EventReader } from '../page/stream.mjs';
import { Batch, Pace } from '../page/totals.mjs';

const row = (state, addedAt, sent, total = 100) => ({ state, addedAt, sent, total });

test('a batch lasts until the queue is empty and the next file comes', () => {
  const batch = new Batch();
  const old = row('completed', 1, 100);
  assert.deepEqual(batch.count([old]), { live: 0, done: 0, failed: 0, sent: 0, total: 0 });
  const first = [old, row('running', 5, 40), row('error', 6, 10), row('queued', 7, 0)];
  assert.deepEqual(batch.count(first), { live: 2, done: 0, failed: 1, sent: 40, total: 200 });
  const second = [old, row('completed', 5, 100), row('completed', 7, 100)];
  assert.deepEqual(batch.count(second), { live: 0, done: 2, failed: 0, sent: 200, total: 200 });
  const third = [...second, row('queued', 9, 0)];
  assert.deepEqual(batch.count(third), { live: 1, done: 0, failed: 0, sent: 0, total: 100 });
});

test('speed is that of the last seconds, and of this attempt alone', () => {
  const pace = new Pace();
  assert.equal(pace.speed(0), 0);
  pace.note(0, 0);
  pace.note(100, 100);
  assert.equal(pace.speed(100), 0, 'too short to tell');
  for (let second = 1; second <= 20; second += 1) pace.note(second * 1000, second * 1000);
  assert.equal(pace.speed(20_000), 1000);
  assert.equal(pace.speed(24_001), 0, 'it stands still');
  pace.note(0, 24_100);
  pace.note(500, 25_100);
  assert.equal(pace.speed(25_100), 500);
});

test('what is told aloud: ends and questions, many at once as one, names made visible', () => {
  const named = (name, state, failure) => ({ name, state, failure });
  const nothing = { live: 0, waiting: 0 };
  const refused = { errorKind: 'http', httpCode: 422 };
  assert.equal(news([named('a', 'running'), named('b', 'queued')], { live: 2, waiting: 0 }), '');
  assert.equal(news([named('a\u202eb', 'completed')], { live: 1, waiting: 0 }),
    'a\u2039U+202E\u203ab is uploaded.');
  assert.equal(news([named('a', 'completed'), named('b', 'completed')], nothing),
    '2 files are uploaded. Nothing is left to do.');
  assert.equal(news([named('a', 'completed'), named('b', 'error', refused)], nothing),
    'a is uploaded. b failed. The server refused it (422).');
  const added = [{ ...named('a', 'queued'), isNew: true }, { ...named('b', 'running'), isNew: true }];
  assert.equal(news(added, { live: 2, waiting: 0 }), '2 files added.');
  assert.equal(news([named('a', 'awaiting-auth')], { live: 3, waiting: 3 }),
    '3 uploads wait for you to sign in.');
});

test('events are read whole, however their text is cut', () => {
  const text = 'event: snapshot\ndata: {"a":"\u2028 x"}\n\n: a comment\n\nevent: change\ndata: [1]\n\n'
    + 'event: half\n';
  for (let at = 0; at <= text.length; at += 1) {
    const seen = [];
    const reader = new EventReader((...event) => seen.push(event));
    reader.push(text.slice(0, at));
    reader.push(text.slice(at));
    assert.deepEqual(seen, [['snapshot', { a: '\u2028 x' }], ['change', [1]]]);
  }
});
