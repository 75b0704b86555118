import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { UploadClient } from '../src/client.js';
import { systemClock } from '../src/clock.js';
import { SidecarExited, createUploadClient } from '../src/index.mjs';
import { Sidecar } from '../src/sidecar.js';
import { ManualClock, fails } from './rig.mjs';

const ODD = fileURLToPath(new URL('./odd-sidecar.mjs', import.meta.url));
const INDEX = new URL('../src/index.mjs', import.meta.url).href;
let folder;

before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'outtray-js-'));
});
after(() => rm(folder, { recursive: true }));

/** A client over the odd sidecar; a definition's key says what that one does. */
function start({ clock = systemClock, ...options } = {}) {
  const warnings = [];
  const sidecar = new Sidecar({ dir: folder, binary: ODD, ...options }, clock);
  const client = new UploadClient({ sidecar, clock, onWarning: (message) => warnings.push(message) });
  const define = (key) => client.define({ key, request: () => ({ url: 'https://api.test/' }) });
  const [note, die, never, ending] = ['k', 'die', 'never', 'ending'].map(define);
  return { client, warnings, note, die, never, ending };
}
const death = { status: 3, stderr: 'first\nno space left\n' };

test('the process starts with the first call, and close without a call starts none', async () => {
  const { client } = start({ binary: '/no/such/outtray' });
  await client.close();
  await assert.rejects(client.ping(), fails('E_CLOSED'));
  const missing = start({ binary: '/no/such/outtray' });
  await assert.rejects(missing.client.ping(), fails('E_BINARY_MISSING'));
  await assert.rejects(missing.client.configure(), fails('E_BINARY_MISSING'));
  assert.match(missing.warnings[0], /configure failed.*no\/such/);
});

test('death fails every mutate in flight with status, end of stderr and its own id', async () => {
  const { client, die, never, warnings } = start();
  const waiting = ['a', 'b'].map((id) => never.mutate(null, { id }));
  const dying = die.mutate(death, { id: 'c' });
  for (const [index, call] of [...waiting, dying].entries()) {
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof SidecarExited);
      assert.deepEqual([error.exitCode, error.signal, error.entryId], [3, null, 'abc'[index]]);
      assert.match(error.message, /no space left$/);
      return true;
    });
  }
  assert.match(warnings[0], /status 3: no space left; the next call starts it again/);
  await client.close();
});

test('the next call starts a new process, to which nothing was said twice', async () => {
  const { client, note, die } = start();
  await note.mutate(null, { id: 'a' });
  const { pid } = await client.stats();
  await assert.rejects(die.mutate(death, { id: 'b' }), fails('E_SIDECAR_EXITED'));
  await note.mutate(null, { id: 'b' });
  const now = await client.stats();
  assert.notEqual(now.pid, pid);
  assert.deepEqual(now.enqueued, ['b']);
  await client.close();
});

test('a call that is refused because the sidecar ends goes to the next one', async () => {
  const { client, note, ending } = start();
  const { pid } = await client.stats();
  // The odd sidecar always answers this key so; the client gives up after its starts are used up.
  const call = ending.mutate(null, { id: 'x' });
  await assert.rejects(call, fails('E_RESTARTS', /5 times within 180 s/));
  await assert.rejects(note.mutate(), fails('E_RESTARTS'));
  assert.equal(typeof pid, 'number');
  await client.close();
});

test('it is started again at most four times in three minutes, and later again', async () => {
  const clock = new ManualClock();
  const { client, die } = start({ clock });
  for (let life = 0; life < 5; life++) {
    await assert.rejects(die.mutate(death), fails('E_SIDECAR_EXITED'));
  }
  await assert.rejects(client.ping(), (error) => {
    fails('E_RESTARTS')(error);
    assert.equal(error.cause.exitCode, 3);
    return true;
  });
  clock.advance(180_000);
  await client.ping();
  await client.close();
});

test('close resolves once the process is gone, and again when it is repeated', async () => {
  const { client } = start();
  const { pid } = await client.server();
  await Promise.all([client.close(), client.close()]);
  assert.throws(() => process.kill(pid, 0), /ESRCH/);
});

test('background, keepAwake and virtualClock become flags of the sidecar', async () => {
  for (const [background, flags] of [
    [false, []], [true, ['--on-disconnect', 'drain']], [60, ['--on-disconnect', 'stay:60']]]) {
    const client = createUploadClient({ dir: folder, binary: ODD, background, args: ['--max-line', '4096'] });
    const seen = await argumentsOf(client);
    assert.deepEqual(seen, ['serve', '--dir', folder, ...flags, '--max-line', '4096']);
  }
  const still = createUploadClient({ dir: folder, binary: ODD, virtualClock: true });
  assert.deepEqual(await argumentsOf(still), ['serve', '--dir', folder, '--virtual-clock']);
  const awake = createUploadClient({ dir: folder, binary: ODD, keepAwake: true, background: 5 });
  assert.deepEqual(await argumentsOf(awake),
    ['serve', '--dir', folder, '--on-disconnect', 'stay:5', '--keep-awake']);
});

/** The command line of a client's process, as the kernel shows it. */
async function argumentsOf(client) {
  const { pid } = await client.server();
  const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8')).split('\0').slice(0, -1);
  await client.close();
  return words.slice(words.indexOf(ODD) + 1);
}

/** Runs a script that has a `client`; gives its output and exit status, null when it had to be killed. */
function runScript(body, ms = 20_000) {
  const text = `import { createUploadClient } from ${JSON.stringify(INDEX)};
    const options = { dir: ${JSON.stringify(folder)}, binary: ${JSON.stringify(ODD)} };
    const client = createUploadClient(options);
    const note = client.define({ key: 'k', request: () => ({ url: 'https://api.test/' }) });
    ${body}`;
  const stdio = ['ignore', 'pipe', 'pipe'];
  const child = spawn(process.execPath, ['--input-type=module', '-e', text], { stdio });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk;
      if (output.includes('held')) setTimeout(() => child.kill('SIGKILL'), ms);
    });
  }
  return new Promise((resolve) => {
    child.once('close', (status) => resolve({ status, output }));
  });
}

test('an idle client does not keep Node alive, configured or not', async () => {
  const plain = await runScript("await note.mutate(); console.log('done');");
  assert.deepEqual(plain, { status: 0, output: 'done\n' });
  const configured = await runScript("await client.configure(); console.log('done');");
  assert.deepEqual(configured, { status: 0, output: 'done\n' });
});

test('what was enqueued here keeps Node alive until its outcome; not with background', async () => {
  const body = "client.configure(); await note.mutate(null, { id: 'a' }); console.log('held');";
  assert.equal((await runScript(body, 500)).status, null);
  const later = "await note.mutate(null, { id: 'a' }); await client.configure(); console.log('held');";
  assert.equal((await runScript(later, 500)).status, null);
  const outcome = "{ method: 'settled', params: { eventId: 'e', id: 'a', key: 'k', kind: 'cancelled' } }";
  const settled = `client.configure(); await note.mutate(null, { id: 'a' });
    const emit = client.define({ key: 'emit', request: () => ({ url: 'https://api.test/' }) });
    await emit.mutate(${outcome}, { id: 'a' });`;
  assert.deepEqual(await runScript(settled), { status: 0, output: '' });
  const refused = `client.configure();
    const wrong = client.define({ key: 'refused', request: () => ({ url: 'https://api.test/' }) });
    await wrong.mutate().catch(({ code }) => console.log(code));`;
  assert.deepEqual(await runScript(refused), { status: 0, output: 'E_INVALID\n' });
  const background = `const bg = createUploadClient({ ...options, background: true }); bg.configure();
    await bg.define({ key: 'k', request: () => ({ url: 'https://api.test/' }) }).mutate();`;
  assert.equal((await runScript(background)).status, 0);
});

test('a for await loop over events keeps Node alive', async () => {
  const body = "await client.configure(); console.log('held'); for await (const each of client.events());";
  assert.equal((await runScript(body, 500)).status, null);
  const early = `(async () => { for await (const each of client.events()); })();
    await client.ping(); console.log('held');`;
  assert.equal((await runScript(early, 500)).status, null);
});

test('the death of an idle sidecar is a warning and ends no program by a rejection', async () => {
  const body = `const stay = setInterval(() => {}, 1000);
    console.warn = (message) => {
      console.log(message);
      client.ping().then(() => console.log('alive again')).finally(() => clearInterval(stay));
    };
    client.configure();
    process.kill((await client.server()).pid, 'SIGKILL');`;
  const { status, output } = await runScript(body);
  assert.equal(status, 0);
  assert.match(output, /outtray: the sidecar was ended by SIGKILL/);
  assert.match(output, /alive again/);
});

test('in a worker thread; the end of the worker ends the sidecar', async () => {
  const text = `const { parentPort, workerData } = require('node:worker_threads');
    import(workerData.index).then(async ({ createUploadClient }) => {
      const client = createUploadClient(workerData.options);
      parentPort.postMessage((await client.server()).pid);
    }); setInterval(() => {}, 1000);`;
  const workerData = { index: INDEX, options: { dir: folder, binary: ODD } };
  const worker = new Worker(text, { eval: true, workerData });
  const [pid] = await once(worker, 'message');
  process.kill(pid, 0);
  await worker.terminate();
  await isGone(pid);
});

/** A sidecar whose processes are stubs, each answering calls as it is told. */
function stubbed(...lives) {
  const said = [];
  let life = 0;
  const open = async (options) => {
    const answer = lives[life++];
    return {
      server: { life }, hold() {}, call: async (method, params) => {
        said.push(`${life} ${method} ${params?.n ?? ''}`.trim());
        return answer(method);
      },
      close: async () => options.onExit(new SidecarExited({ exitCode: 0, signal: null, stderr: '' })),
    };
  };
  const sidecar = new Sidecar({ dir: '/q' }, systemClock, open);
  const exits = [];
  sidecar.attach({
    greet: (call) => call('subscribe'), onEvent() {}, onNoise() {}, onExit: (exit) => exits.push(exit) });
  return { sidecar, said, exits };
}

test('calls that a sidecar refuses since it ends go to one new sidecar, in order, each once', async () => {
  const ending = () => {
    throw Object.assign(new Error('ending'), { code: 'E_SHUTDOWN' });
  };
  const first = (method) => (method === 'subscribe' ? {} : ending());
  const { sidecar, said, exits } = stubbed(first, () => 'done');
  const calls = [1, 2, 3].map((n) => sidecar.call('enqueue', { n }));
  assert.deepEqual(await Promise.all(calls), ['done', 'done', 'done']);
  assert.deepEqual(said, [
    '1 subscribe', '1 enqueue 1', '1 enqueue 2', '1 enqueue 3',
    '2 subscribe', '2 enqueue 1', '2 enqueue 2', '2 enqueue 3']);
  assert.deepEqual(exits, []);
});

async function isGone(pid) {
  for (const end = Date.now() + 10_000; Date.now() < end;) {
    // Without its parent's thread nobody reaps it until this process ends: a zombie is gone.
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => 'x (gone) Z');
    if (/\) Z/.test(stat)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  assert.fail(`process ${pid} is still there`);
}
