import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { findRuntime } from './runtimes.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
let folder;

// The package stands where npm would put it, so that `exports` is what the compilers read.
before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'outtray-types-'));
  mkdirSync(path.join(folder, 'node_modules'));
  for (const name of ['package.json', 'src']) {
    cpSync(path.join(ROOT, name), path.join(folder, 'node_modules', 'outtray', name), { recursive: true });
  }
  for (const type of ['module', 'commonjs']) {
    mkdirSync(path.join(folder, type));
    writeFileSync(path.join(folder, type, 'package.json'), JSON.stringify({ type }));
    cpSync(path.join(ROOT, 'test', 'types', 'definitions.ts'), path.join(folder, type, 'definitions.ts'));
  }
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(path.join(folder, 'deno.json'), '{ "nodeModulesDir": "manual" }');
  // Deno asks for these; the types of the package do without.
  const node = path.join(folder, 'node_modules', '@types', 'node');
  mkdirSync(node, { recursive: true });
  const described = { name: '@types/node', version: '24.0.0', types: 'index.d.ts' };
  writeFileSync(path.join(node, 'package.json'), JSON.stringify(described));
  writeFileSync(path.join(node, 'index.d.ts'), '');
});
after(() => rmSync(folder, { recursive: true }));

const run = (command, words) => spawnSync(command, words, { cwd: folder, encoding: 'utf8' });
const options = {
  noEmit: true, strict: true, target: 'es2022', lib: ['es2022'], module: 'node16',
  moduleResolution: 'node16', types: [],
};

function compile(options, ...files) {
  writeFileSync(path.join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: options, files }));
  return run('tsc', ['--project', 'tsconfig.json']);
}

test('B98: types follow from request and response, in packages of both kinds, by tsc', () => {
  const { error, stdout } = compile(options, 'module/definitions.ts', 'commonjs/definitions.ts');
  assert.equal(error, undefined, 'tsc is needed: scripts/install-tools test');
  assert.equal(stdout, '');
});

test('B98: the older way to resolve modules finds the types too', () => {
  const file = path.join(folder, 'older.ts');
  writeFileSync(file, `import { createUploadClient } from 'outtray';
    import { createFakeSidecar } from 'outtray/testing';
    import { Session } from 'outtray/session';
    const uploads = createUploadClient({ sidecar: createFakeSidecar() });
    uploads.define({ key: 'k', request: () => ({ url: '/' }) }).mutate();
    export const opened: Promise<Session> = Session.open({ dir: '/q' });`);
  const older = { ...options, module: 'commonjs', moduleResolution: 'node' };
  assert.equal(compile(older, 'older.ts').stdout, '');
});

test('B98: each line that must not compile does not, and says why', () => {
  const text = readFileSync(path.join(folder, 'module', 'definitions.ts'), 'utf8');
  const wrong = text.match(/@ts-expect-error/g).length;
  assert.ok(wrong >= 20);
  writeFileSync(path.join(folder, 'module', 'wrong.ts'), text.replaceAll('@ts-expect-error', ''));
  const { stdout } = compile(options, 'module/wrong.ts');
  assert.ok(stdout.match(/error TS/g).length >= wrong, stdout);
  assert.match(stdout, /Property 'text' is missing|TS2345/);
});

test('B98: the same types by the newer compiler of Deno', (context) => {
  const deno = findRuntime('deno');
  if (!deno) return context.skip('no deno: scripts/install-tools runtimes');
  const { status, stderr } = run(deno, ['check', 'module/definitions.ts']);
  assert.equal(status, 0, stderr);
});
