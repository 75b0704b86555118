import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BINARY, Receiver, needsBinary } from './sidecar.mjs';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const read = (file) => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));
let folder;
let packed;

function run(command, words, options = {}) {
  const ended = spawnSync(command, words, { encoding: 'utf8', ...options });
  assert.equal(ended.status, 0, `${command}: ${ended.error ?? ended.stderr}${ended.stdout}`);
  return ended.stdout;
}

/** The environment of a machine that has neither a network nor a sidecar. */
function bareEnvironment() {
  const { OUTTRAY, OUTTRAY_BINARY, ...env } = process.env;
  return { ...env, npm_config_cache: path.join(folder, 'cache'), npm_config_offline: 'true' };
}

/** Modes and names of the files in a tarball. */
function listing(file) {
  const lines = run('tar', ['--list', '--verbose', '--gzip', '--file', file]).trim().split('\n');
  return lines.map((line) => [line.slice(0, 10), line.split('package/')[1]]);
}

before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'outtray-package-'));
  if (needsBinary.skip) return;
  const env = { ...bareEnvironment(), OUTTRAY: BINARY };
  run(path.join(ROOT, 'scripts', 'package-js'), [path.join(folder, 'dist')], { env });
  packed = readdirSync(path.join(folder, 'dist')).map((name) => path.join(folder, 'dist', name)).sort();
});
after(() => rmSync(folder, { recursive: true }));

test('the versions of both packages are one', () => {
  const [client, platform] = [read('../package.json'), read('../platforms/linux-x64/package.json')];
  assert.deepEqual(client.optionalDependencies, { [platform.name]: client.version });
  assert.equal(platform.version, client.version);
  assert.equal(client.dependencies, undefined);
});

test('the packages hold what they should, the executable with its mode', needsBinary, () => {
  const [client, platform] = packed.map((file) => new Map(listing(file).map(([mode, name]) => [name, mode])));
  for (const name of ['package.json', 'README.md', 'API.md', 'CHANGELOG.md', 'LICENSE', 'src/index.js',
    'src/index.mjs', 'src/index.d.ts', 'src/index.d.mts', 'src/testing.mjs', 'src/protocol.d.ts']) {
    assert.ok(client.has(name), name);
  }
  const outside = [...client.keys()].filter((name) => !/^(src|bin|examples)\/|^[^/]+$/.test(name));
  assert.deepEqual(outside, []);
  assert.equal(client.get('bin/outtray.js'), '-rwxr-xr-x');
  assert.equal(platform.get('bin/outtray'), '-rwxr-xr-x');
  assert.deepEqual([...platform.keys()].sort(), ['LICENSE', 'README.md', 'bin/outtray', 'package.json']);
});

const PROGRAM = `
  const [file, url] = process.argv.slice(2);
  const uploads = createUploadClient({ dir: './queue' });
  const upload = uploads.define({
    key: 'file', request: () => ({ url, file, method: 'PUT' }),
    onSuccess: ({ status }, vars, { attempts }) => console.log('uploaded', status, attempts),
  });
  uploads.configure();
  upload.mutate();
`;

test('installed from the tarballs, offline, it uploads a file, by import and by require', needsBinary,
  async () => {
    const app = path.join(folder, 'app');
    run('mkdir', [app]);
    writeFileSync(path.join(app, 'package.json'), '{ "private": true }');
    const env = bareEnvironment();
    run('npm', ['install', '--offline', '--no-audit', '--no-fund', ...packed], { cwd: app, env });
    const file = path.join(folder, 'file.txt');
    writeFileSync(file, 'the file');
    writeFileSync(path.join(app, 'a.mjs'), `import { createUploadClient } from 'outtray';${PROGRAM}`);
    writeFileSync(path.join(app, 'b.cjs'), `const { createUploadClient } = require('outtray');${PROGRAM}`);
    for (const script of ['a.mjs', 'b.cjs']) {
      const receiver = await Receiver.start();
      const output = await runAsync(process.execPath, [script, file, receiver.url('/f')], app);
      receiver.stop();
      assert.deepEqual(output, { status: 0, stdout: 'uploaded 201 1\n', stderr: '' });
      const seen = receiver.requests.map(({ method, body }) => [method, body.toString()]);
      assert.deepEqual(seen, [['PUT', 'the file']]);
    }
    const outtray = path.join(app, 'node_modules', '.bin', 'outtray');
    assert.match(run(outtray, ['--version'], { env }), /^outtray \d/);
    assert.equal(spawnSync(outtray, ['nonsense'], { env }).status, 64);
  });

test('both ways to load it give the same classes', () => {
  const index = new URL('../src/index.mjs', import.meta.url);
  const text = `import { ClientError, createUploadClient } from ${JSON.stringify(index)};
    import { createRequire } from 'node:module';
    const cjs = createRequire(import.meta.url)(${JSON.stringify(path.join(ROOT, 'clients/js/src/index.js'))});
    console.log(cjs.ClientError === ClientError, cjs.createUploadClient === createUploadClient);`;
  assert.equal(run(process.execPath, ['--input-type=module', '-e', text]), 'true true\n');
});

function runAsync(command, words, cwd) {
  const child = spawn(command, words, { cwd, env: bareEnvironment() });
  const output = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].on('data', (chunk) => {
    output[name] += chunk;
  });
  return new Promise((resolve) => {
    child.once('close', (status) => resolve({ status, ...output }));
  });
}
