import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes, duration, failureText, part, reason, status, visibleName } from '../page/words.mjs';

/** Without the spaces that keep a number and its unit on one line. */
const plain = (text) => text.replaceAll('\u00a0', ' ');

test('bytes, at the borders of their units', () => {
  const cases = [
    [0, '0 B'], [999, '999 B'], [1000, '1.0 kB'], [1949, '1.9 kB'], [9949, '9.9 kB'], [9950, '10 kB'],
    [999_499, '999 kB'], [999_949, '1000 kB'], [999_950, '1.0 MB'], [5e9, '5.0 GB'], [7.2e15, '7200 TB'],
  ];
  for (const [count, text] of cases) assert.equal(plain(bytes(count)), text, String(count));
});

test('a part of bytes says its unit once where both have it', () => {
  assert.equal(plain(part(4_200_000, 10_000_000)), '4.2 of 10 MB');
  assert.equal(plain(part(450_000, 10_000_000)), '450 kB of 10 MB');
  assert.equal(plain(part(0, 0)), '0 of 0 B');
});

test('spans of time are rounded up and never say zero', () => {
  const minute = 60_000;
  const cases = [
    [0, '1 s'], [1, '1 s'], [59_000, '59 s'], [59_001, '1 min'], [61_000, '2 min'], [60 * minute, '1 h'],
    [65 * minute, '1 h 5 min'], [24 * 60 * minute, '1 day'], [25 * 60 * minute, '2 days'],
  ];
  for (const [ms, text] of cases) assert.equal(plain(duration(ms)), text, String(ms));
});

test('names that hide what they are show it; others stay as they are', () => {
  assert.equal(visibleName('photo\u202egpj.exe'), 'photo\u2039U+202E\u203agpj.exe');
  assert.equal(visibleName('a\nb\u0000'), 'a\u2039U+000A\u203ab\u2039U+0000\u203a');
  for (const name of ['<img src=x onerror=alert(1)>.png', 'קובץ.pdf', '👩‍👩‍👧 día.jpg', 'e\u0301.txt']) {
    assert.equal(visibleName(name), name);
  }
});

test('what went wrong, in words', () => {
  const cases = [
    [undefined, 'It failed'],
    [{ errorKind: 'http', httpCode: 413 }, 'The server says it is too large (413)'],
    [{ errorKind: 'http', httpCode: 422 }, 'The server refused it (422)'],
    [{ errorKind: 'http', httpCode: 503 }, 'The server has trouble (503)'],
    [{ errorKind: 'network', message: 'Connection refused' }, 'The server cannot be reached'],
    [{ errorKind: 'network', message: 'stalled for 60 s' }, 'The connection failed: stalled for 60 s'],
    [{ errorKind: 'expired', message: 'x' }, 'It waited too long and was given up'],
    [{ errorKind: 'file', message: 'gone' }, 'The file cannot be read: gone'],
    [{ errorKind: 'of tomorrow' }, 'The connection failed'],
  ];
  for (const [failure, text] of cases) assert.equal(failureText(failure), text);
});

const row = (more) => ({
  kind: 'picture', state: 'queued', sent: 0, total: 1000, updatedAt: 0, ...more,
});
const gatesOf = (...names) => names.map((gate) => ({ gate, until: 5000 }));

test('of several reasons to wait, the one is told that a person can do something about', () => {
  const failure = { errorKind: 'network', message: 'connect' };
  const waits = row({ failure, nextAttemptAt: 5000 });
  const down = 'The server cannot be reached. ';
  const cases = [
    [waits, ['slots', 'backoff', 'queue'], 'Paused'],
    [waits, ['backoff', 'key'], 'Pictures are paused'],
    [row({ kind: 'audio' }), ['key'], 'Audio is paused'],
    [waits, ['slots', 'backoff'], `${down}Next try in 4 s`],
    [waits, ['outage'], `${down}Goes on as soon as it is back`],
    [waits, [], `${down}Next try in 4 s`],
    [row({}), ['slots'], 'Waits for its turn'],
    [row({}), ['gate of tomorrow'], 'Waits for its turn'],
    [row({ state: 'awaiting-auth' }), [], 'Waits for you to sign in'],
    [row({ state: 'paused' }), [], 'Paused'],
  ];
  for (const [each, names, text] of cases) assert.equal(plain(reason(each, gatesOf(...names), 1000)), text);
  assert.equal(reason(waits, gatesOf('backoff'), 5000), `${down}Tries again now`);
});

test('the line under a name, and its tone', () => {
  const say = (more, about) => {
    const { tone, text } = status(row(more), { gates: [], speed: 0, now: 0, ...about });
    return [tone, plain(text)];
  };
  assert.deepEqual(say({ state: 'running', sent: 500 }), ['busy', 'Uploading']);
  assert.deepEqual(say({ state: 'running', sent: 500 }, { speed: 100 }), ['busy', '100 B/s, 5 s left']);
  assert.deepEqual(say({ state: 'running', sent: 1000 }, { speed: 100 }), ['busy', 'Waits for the answer']);
  assert.deepEqual(say({ state: 'error' }), ['bad', 'It failed']);
  assert.equal(say({ nextAttemptAt: 1 })[0], 'ask');
  assert.equal(say({})[0], 'quiet');
  assert.match(say({ state: 'completed' })[1], /^Uploaded at \d\d:\d\d$/);
  assert.match(say({ state: 'completed' }, { now: 9e11 })[1], /^Uploaded on \d{4}-\d\d-\d\d$/);
});
