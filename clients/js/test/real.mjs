// The real sidecar and a loopback server, for the tests that use both.
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, beforeEach } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createUploadClient } from '../src/index.mjs';
import { BINARY, Receiver, until } from './sidecar.mjs';

export const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** A folder of its own, for the run of one file of tests. */
export let folder;
/** A server of its own for each test. */
export let receiver;

before(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'outtray-js-'));
});
after(() => rm(folder, { recursive: true }));
beforeEach(async (context) => {
  receiver = await Receiver.start();
  context.after?.(() => receiver.stop());
});

let serial = 0;
export const newQueue = () => path.join(folder, `queue-${serial++}`);

/** Runs a body with a client of a real queue and a definition whose outcomes are kept. */
export async function withClient(body, { dir = newQueue(), ...definition } = {}) {
  const warnings = [];
  const client = createUploadClient({ dir, binary: BINARY, onWarning: (message) => warnings.push(message) });
  const outcomes = [];
  const note = client.define({
    key: 'note', request: (vars) => ({ url: receiver.url('/notes'), ...vars?.request }),
    onSuccess: (...given) => outcomes.push(given), onError: (...given) => outcomes.push(given), ...definition,
  });
  try {
    await body({ client, note, outcomes, warnings, dir });
  } finally {
    await client.close();
    receiver.stop();
  }
}
export const handled = (outcomes, count) => until(`${count} outcomes`, () => outcomes.length >= count);
export const sha = (bytes) => createHash('sha256').update(bytes).digest('hex');
