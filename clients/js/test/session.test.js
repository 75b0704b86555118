import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CallError, ClientError, SidecarExited, SpawnError, open } from '../src/index.js';

const FAKE = fileURLToPath(new URL('./fake-sidecar.mjs', import.meta.url));
const INDEX = new URL('../src/index.js', import.meta.url).href;
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
const start = (options) => open({ dir: folder, binary: FAKE, ...options });
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

test('events reach listeners and loops in order; a loop ends with it', () => withSession(async (session) => {
  const heard = [];
  session.on('settled', (params) => heard.push(params));
  const stream = session[Symbol.asyncIterator]();
  await session.call('subscribe', { events: ['settled'] });
  await session.call('emit', { method: 'settled', params: { eventId: 'e1' } });
  await session.call('emit', { method: 'error', params: { odd: true } });
  assert.deepEqual((await stream.next()).value, { method: 'settled', params: { eventId: 'e1' } });
  assert.deepEqual((await stream.next()).value, { method: 'error', params: { odd: true } });
  assert.deepEqual(heard, [{ eventId: 'e1' }]);
  await session.close();
  assert.equal((await stream.next()).done, true);
}));

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

/** Runs a script that opens `session`; resolves with its exit status, null when it had to be killed. */
function runScript(body, ms) {
  const text = `import { open } from ${JSON.stringify(INDEX)};
    const session = await open({ dir: ${JSON.stringify(folder)}, binary: ${JSON.stringify(FAKE)} });
    ${body}`;
  const stdio = ['ignore', 'pipe', 'inherit'];
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], { stdio });
  let stdout = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  return new Promise((resolve) => {
    const timer = setTimeout(() => child.kill('SIGKILL'), ms);
    child.once('close', (status) => {
      clearTimeout(timer);
      resolve({ status, stdout });
    });
  });
}

test('an idle session does not keep Node alive', async () => {
  const ended = await runScript("await session.call('echo'); console.log('done');", 10_000);
  assert.deepEqual(ended, { status: 0, stdout: 'done\n' });
});

test('a subscription keeps Node alive until unsubscribe', async () => {
  const held = await runScript("await session.call('subscribe', { events: ['settled'] });", 1500);
  assert.equal(held.status, null);
  const freed = await runScript(
    "await session.call('subscribe', { events: ['settled'] }); await session.call('unsubscribe');", 10_000);
  assert.equal(freed.status, 0);
});

test('a call in flight keeps Node alive until it is answered', async () => {
  const body = "session.call('long', { bytes: 3_000_000 }).then(({ text }) => console.log(text.length));";
  assert.deepEqual(await runScript(body, 10_000), { status: 0, stdout: '3000000\n' });
});
