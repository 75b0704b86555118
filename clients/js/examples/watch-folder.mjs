#!/usr/bin/env node
// A service that uploads what appears in a folder, and outlives crashes, restarts and dead networks:
//
//   node watch-folder.mjs FOLDER URL QUEUE
//
// FOLDER is watched. Each file that has not changed for a second goes into the queue in the directory QUEUE,
// is deleted from FOLDER once it is safe there, and is PUT to URL/NAME. What the server refuses for good is
// noted in FOLDER/refused.log. SIGINT and SIGTERM end it; the next start goes on.
import { watch } from 'node:fs';
import { appendFile, readdir, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { createUploadClient } from 'outtray';

const QUIET_MS = 1000;
const REFUSED = 'refused.log';
const [folder, target, queue] = process.argv.slice(2);
if (!queue) {
  console.error('usage: watch-folder.mjs FOLDER URL QUEUE');
  process.exit(64);
}

const uploads = createUploadClient({ dir: path.resolve(queue) });

const upload = uploads.define({
  key: 'folder.file',
  request: ({ file, name }) => ({
    url: `${target}/${encodeURIComponent(name)}`,
    method: 'PUT',
    headers: { 'Content-Type': 'application/octet-stream' },
    file,
  }),
  onSuccess: (response, { name }, { attempts }) => {
    console.log(`uploaded ${name}: status ${response.status} at attempt ${attempts}`);
  },
  onError: async (error, { name }) => {
    await appendFile(path.join(folder, REFUSED), `${new Date().toISOString()} ${name}: ${error.message}\n`);
    console.error(`refused ${name}: ${error.message}`);
  },
});

/** Hands one file over. The id says which state of the file it is, so doing this twice uploads it once. */
async function take(name) {
  const file = path.resolve(folder, name);
  const before = await stat(file);
  if (!before.isFile() || Date.now() - before.mtimeMs < QUIET_MS) return;
  const id = `${name.slice(0, 64)}@${before.mtimeMs}+${before.size}`;
  await upload.mutate({ file, name }, { id });
  const after = await stat(file);
  // Somebody wrote to it meanwhile: it stays, and is taken again when it rests.
  if (after.mtimeMs !== before.mtimeMs || after.size !== before.size) return;
  await unlink(file);
  console.log(`queued ${name}`);
}

let scanning = false;
async function scan() {
  if (scanning) return;
  scanning = true;
  try {
    for (const name of await readdir(folder)) {
      if (name.startsWith('.') || name === REFUSED) continue;
      await take(name).catch((error) => console.error(`${name}: ${error.message}`));
    }
  } finally {
    scanning = false;
  }
}

uploads.configure({ onWarning: (message) => console.error(message) });
const watcher = watch(folder, () => scan());
const timer = setInterval(scan, QUIET_MS);
scan();

for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, async () => {
    watcher.close();
    clearInterval(timer);
    await uploads.close();
  });
}
