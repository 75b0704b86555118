import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { KEPT, Ledger } from '../host/ledger.js';
import { KINDS, kindOf, kindOfKey, keyOf } from '../host/kinds.js';
import { readOptions } from '../host/options.js';
import { View } from '../host/view.js';

let folder;
before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'outtray-desktop-'));
});
after(() => rmSync(folder, { recursive: true }));

test('a ledger is what it was when it is opened again, and readable by its owner alone', async () => {
  const file = path.join(folder, 'ledger.json');
  const ledger = await Ledger.open(file);
  ledger.failures.a = { message: 'no' };
  ledger.pausedKinds = ['video'];
  ledger.addFinished({ id: 'a', at: 1 });
  ledger.addFinished({ id: 'b', at: 2 });
  ledger.addFinished({ id: 'a', at: 3 });
  await ledger.save();
  const again = await Ledger.open(file);
  assert.deepEqual(again.finished, [{ id: 'b', at: 2 }, { id: 'a', at: 3 }]);
  assert.deepEqual([again.failures, again.paused, again.pausedKinds], [{}, false, ['video']]);
});

test('a save resolves once what it was called for is on disk; many share a write', async () => {
  const file = path.join(folder, 'shared.json');
  const ledger = await Ledger.open(file);
  await Promise.all(Array.from({ length: KEPT + 50 }, async (_, at) => {
    ledger.addFinished({ id: String(at) });
    await ledger.save();
    const { finished } = JSON.parse(readFileSync(file, 'utf8'));
    assert.ok(finished.some(({ id }) => id === String(at)) || finished.length === KEPT);
  }));
  const { finished } = await Ledger.open(file);
  assert.deepEqual([finished.length, finished[0].id], [KEPT, '50']);
});

test('a ledger that cannot be read as one is put aside, not lost', async () => {
  const file = path.join(folder, 'bad.json');
  writeFileSync(file, '{"finished": [');
  assert.deepEqual((await Ledger.open(file)).finished, []);
  assert.equal(readFileSync(`${file}.damaged`, 'utf8'), '{"finished": [');
  assert.equal(existsSync(file), false);
});

test('a save that fails says so, and the next one works', async () => {
  const ledger = await Ledger.open(path.join(folder, 'no', 'ledger.json'));
  await assert.rejects(ledger.save(), { code: 'ENOENT' });
  const [first, second] = await Promise.allSettled([ledger.save(), ledger.save()]);
  assert.deepEqual([first.status, second.status], ['rejected', 'rejected']);
});

test('changes of a moment are told together: rows once, progress beside them, no row that went', async () => {
  const told = [];
  const view = new View((change) => told.push(change));
  for (const id of ['a', 'b', 'c']) view.set({ id, sent: 0 });
  view.remove('b');
  view.move({ id: 'a', bytesSent: 5 });
  view.move({ id: 'nobody', bytesSent: 5 });
  while (told.length < 1) await new Promise((resolve) => setTimeout(resolve, 5));
  view.move({ id: 'c', bytesSent: 6 });
  view.settings({ paused: true });
  while (told.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(told, [
    { rows: [{ id: 'a', sent: 5 }, { id: 'c', sent: 6 }], gone: ['b'], progress: [], settings: null },
    { rows: [], gone: [], progress: [['c', 6]], settings: { paused: true } },
  ]);
});

test('kinds come from the ending, whatever its case; a name without one is another file', () => {
  const kinds = ['a.JPG', 'b.tar.gz', '.png', 'clip.mp4', 'LICENSE', 'x.constructor'].map(kindOf);
  assert.deepEqual(kinds, ['picture', 'other', 'other', 'video', 'other', 'other']);
  assert.equal(keyOf('video'), 'upload.video');
  assert.deepEqual(KINDS.map((kind) => kindOfKey(keyOf(kind))), KINDS);
  assert.equal(kindOfKey('note.add'), undefined);
});

test('options are read, and what is wrong with them is named', () => {
  const defaults = { dir: '/d' };
  const options = readOptions(['--no-sandbox', '.', '--dir', 'rel', '--port', '81'], defaults);
  assert.deepEqual([options.dir, options.port], [path.resolve('rel'), 81]);
  assert.throws(() => readOptions(['--port', 'x'], defaults), /--port must be/);
  assert.throws(() => readOptions(['--server', 'ftp://x'], defaults), /--server must be/);
  assert.throws(() => readOptions(['--dir'], defaults), /--dir needs a value/);
});
