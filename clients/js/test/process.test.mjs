import assert from 'node:assert/strict';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findBinary, outsideArchive, platformPackage } from '../src/binary.js';
import { CallError, ClientError, SidecarExited, SpawnError } from '../src/index.mjs';
import { Session } from '../src/session.mjs';

const FAKE = fileURLToPath(new URL('./odd-sidecar.mjs', import.meta.url));
let folder;

before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'outtray-js-'));
});
after(() => rm(folder, { recursive: true }));

const rejectsWith = (type, code, text = /./) => (error) => {
  assert.ok(error instanceof type, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, text);
  return true;
};
const start = (options) => Session.open({ dir: folder, binary: FAKE, ...options });
const startFails = (options, code, text) =>
  assert.rejects(start(options), rejectsWith(SpawnError, code, text));

async function withSession(body, options) {
  const session = await start(options);
  try {
    await body(session);
  } finally {
    await session.close();
  }
}

test('open starts `serve --dir DIR` and greets; close ends it by the end of stdin', async () => {
  const session = await start({ args: ['--max-line', '1000'] });
  assert.equal(session.server.protocolVersion, 1);
  assert.deepEqual(await session.call('arguments'), ['serve', '--dir', folder, '--max-line', '1000']);
  const exit = await session.close();
  assert.deepEqual([exit.exitCode, exit.signal], [0, null]);
  await assert.rejects(session.call('echo'), rejectsWith(ClientError, 'E_CLOSED'));
});

test('a call and its error come back', () => withSession(async (session) => {
  assert.deepEqual(await session.call('echo', { text: '\u{1F600}\u2028' }), { text: '\u{1F600}\u2028' });
  await assert.rejects(session.call('nothing'), rejectsWith(CallError, 'E_METHOD'));
}));

test('A-RPC-06: an answer of 5 MB arrives whole, and the next one too', () => withSession(async (session) => {
  assert.equal((await session.call('long', { bytes: 5_000_000 })).text.length, 5_000_000);
  assert.deepEqual(await session.call('echo', { a: 1 }), { a: 1 });
}));

test('events come in order, between answers; babble is reported with a reason', async () => {
  const heard = [];
  const session = await start({
    onEvent: (event, params) => heard.push([event, params]),
    onNoise: (line, why) => heard.push([line.toString(), why]),
  });
  await session.call('emit', { method: 'settled', params: { eventId: 'e1' } });
  await session.call('babble', { text: 'Starting up...\n' });
  await session.call('emit', { method: 'odd', params: null });
  await session.call('echo');
  assert.deepEqual(heard, [
    ['settled', { eventId: 'e1' }], ['Starting up...', 'not a line of JSON'], ['odd', null]]);
  await session.close();
});

test('death with calls in flight rejects all of them with status and stderr', async () => {
  const session = await start();
  const waiting = Array.from({ length: 10 }, () => session.call('never'));
  const dying = session.call('die', { status: 73, stderr: 'first\nthe directory cannot be used\n' });
  for (const call of [...waiting, dying]) {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof SidecarExited);
      assert.deepEqual([error.code, error.exitCode, error.signal], ['E_SIDECAR_EXITED', 73, null]);
      assert.match(error.message, /the directory cannot be used$/);
      assert.match(error.stderr, /^first\n/);
      return true;
    });
  }
  await assert.rejects(session.call('echo'), SidecarExited);
});

test('SIGKILL with calls in flight rejects all of them with the signal', async () => {
  const session = await start();
  const waiting = Array.from({ length: 10 }, () => session.call('never'));
  session.kill('SIGKILL');
  for (const call of waiting) {
    await assert.rejects(call, (error) => error instanceof SidecarExited && error.signal === 'SIGKILL');
  }
});

test('death while megabytes wait to be written crashes nothing', async () => {
  const session = await start();
  const dying = session.call('die', { status: 1, stderr: '' });
  const waiting = Array.from({ length: 8 }, () => session.call('echo', { text: 'x'.repeat(1_000_000) }));
  for (const call of [dying, ...waiting]) await assert.rejects(call, SidecarExited);
});

test('stderr is always drained and its last 64 KiB are kept', async () => {
  const session = await start();
  await session.call('flood', { bytes: 1_000_000 });
  const exit = await session.close();
  assert.equal(exit.stderr.length, 64 * 1024);
  assert.ok(exit.stderr.endsWith('the end\n'));
});

test('close goes on to SIGTERM, then to SIGKILL, each after its time', async () => {
  const slow = await start();
  await slow.call('stay');
  assert.equal((await slow.close({ closeMs: 50, termMs: 5000 })).signal, 'SIGTERM');
  const deaf = await start();
  await deaf.call('stay');
  await deaf.call('ignoreTerm');
  assert.equal((await deaf.close({ closeMs: 50, termMs: 50 })).signal, 'SIGKILL');
});

test('a missing binary is told with its path and where the path came from', async () => {
  await startFails({ binary: '/no/such/outtray' }, 'E_BINARY_MISSING', /\/no\/such\/outtray.*option/);
  const env = { ...process.env, OUTTRAY_BINARY: '/none/outtray' };
  await startFails({ binary: undefined, env }, 'E_BINARY_MISSING', /\/none\/outtray.*OUTTRAY_BINARY/);
  const bare = { PATH: folder };
  await startFails({ binary: undefined, env: bare }, 'E_BINARY_MISSING', /OUTTRAY_BINARY.*PATH/);
});

test('a missing working directory is not taken for a missing binary', async () => {
  const cwd = path.join(folder, 'gone');
  await startFails({ cwd }, 'E_CWD_MISSING', /gone/);
});

test('a binary whose loader is missing is told so', async () => {
  const file = path.join(folder, 'foreign');
  await writeFile(file, '#!/no/such/loader\n');
  await chmod(file, 0o755);
  await startFails({ binary: file }, 'E_LOADER_MISSING', /foreign/);
});

test('the binary is found on PATH, after OUTTRAY_BINARY', async () => {
  await writeFile(path.join(folder, 'outtray'), `#!/bin/sh\nexec "${process.execPath}" "${FAKE}" "$@"\n`);
  await chmod(path.join(folder, 'outtray'), 0o755);
  const env = { PATH: `${folder}:${process.env.PATH}` };
  await withSession((session) => session.call('echo', {}), { binary: undefined, env });
  const both = { ...env, OUTTRAY_BINARY: '/none/outtray' };
  await startFails({ binary: undefined, env: both }, 'E_BINARY_MISSING', /OUTTRAY_BINARY/);
});

test('a file of the platform\'s package comes before PATH and behind the environment', () => {
  const resolve = (name) => `/app/node_modules/${name}`;
  const bundled = `/app/node_modules/${platformPackage()}/bin/outtray`;
  const found = findBinary(undefined, { PATH: folder }, resolve);
  assert.deepEqual(found, { file: bundled, source: platformPackage() });
  assert.equal(findBinary(undefined, { OUTTRAY_BINARY: '/a/outtray' }, resolve).file, '/a/outtray');
  assert.equal(findBinary('/b/outtray', { OUTTRAY_BINARY: '/a/outtray' }, resolve).file, '/b/outtray');
  assert.equal(findBinary(undefined, { OUTTRAY_BINARY: '' }, resolve).file, bundled);
  const none = () => {
    throw new Error('not found');
  };
  assert.throws(() => findBinary(undefined, { PATH: '/none' }, none),
    rejectsWith(SpawnError, 'E_BINARY_MISSING', /@outtray\/linux-x64.*lock file.*OUTTRAY_BINARY.*PATH/));
});

test('a binary inside an Electron archive is taken from where Electron unpacks it', () => {
  const inside = '/opt/App/resources/app.asar/node_modules/@outtray/linux-x64';
  const outside = '/opt/App/resources/app.asar.unpacked/node_modules/@outtray/linux-x64';
  assert.equal(findBinary(undefined, {}, (name) => `${inside}/package.json`).file, `${outside}/bin/outtray`);
  assert.equal(findBinary(`${inside}/bin/outtray`, {}).file, `${outside}/bin/outtray`);
  assert.equal(outsideArchive(`${outside}/bin/outtray`), `${outside}/bin/outtray`);
  assert.equal(outsideArchive('C:\\App\\app.asar\\bin'), 'C:\\App\\app.asar.unpacked\\bin');
  assert.equal(outsideArchive('/srv/my.asarium/outtray'), '/srv/my.asarium/outtray');
});

test('a binary that may not be run is told so', async () => {
  const file = path.join(folder, 'plain');
  await writeFile(file, 'text');
  await startFails({ binary: file }, 'E_SPAWN', /plain.*EACCES.*executable/);
});

test('a sidecar that never answers is given up and reaped', async () => {
  const env = { ...process.env, ODD_SILENT: '1' };
  await startFails({ env, startMs: 50 }, 'E_START_TIMEOUT', /50 ms/);
});
