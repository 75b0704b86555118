#!/usr/bin/env node
// Syncs observations with their photos and sounds, and outlives crashes, dead networks and expired tokens:
//
//   observations.mjs sync --queue DIR --records DIR --server URL [--token TOKEN] [--once]
//   observations.mjs token --queue DIR NEWTOKEN
//   observations.mjs abort --queue DIR UUID
//
// DIR of --records holds UUID.json for each observation. `sync` goes on until nothing is left; with --once it
// ends when all is enqueued and leaves the rest to the sidecar. clients/pipeline tells the whole story.
import { parseArgs } from 'node:util';
import { createUploadClient } from 'outtray';
import { Records } from './records.mjs';
import { Sync, groupOf } from './sync.mjs';

const USAGE = 'usage: observations.mjs sync | token | abort; its first lines tell what each takes';

/** One call on a queue that another process may be serving. */
const withQueue = (queue, call) => call(createUploadClient({ dir: queue, background: true }));

const commands = {
  sync: ({ queue, records, server, token, once }) => (
    new Sync({ queue, records: new Records(records), server, token }).run({ token, once })),
  token: ({ queue }, token) => withQueue(queue, (uploads) => (
    uploads.updateHeaders({ Authorization: `Bearer ${token}` }))),
  abort: ({ queue }, uuid) => withQueue(queue, (uploads) => uploads.cancelGroup(groupOf(uuid))),
};
const needs = { sync: ['queue', 'records', 'server'], token: ['queue'], abort: ['queue'] };

function read() {
  const text = { type: 'string' };
  const { values, positionals: [command, word, ...more] } = parseArgs({
    allowPositionals: true,
    options: { queue: text, records: text, server: text, token: text, once: { type: 'boolean' } },
  });
  const isSound = Object.hasOwn(commands, command ?? '') && needs[command].every((name) => values[name])
    && (word === undefined) === (command === 'sync') && more.length === 0;
  if (!isSound) throw new Error(USAGE);
  return () => commands[command](values, word);
}

try {
  await read()();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
