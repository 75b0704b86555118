// The driver that protocol/certify.py and clients/scenario ask for; protocol/certification/README.md says
// what it must understand.
import { createInterface } from 'node:readline';
import { createUploadClient } from '../src/index.mjs';

const report = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const onWarning = (message) => report({ warning: message });

let client;
const definitions = new Map();
/** By id: how many handlers may return, and what lets those return that wait. */
const holds = new Map();

function hold(id) {
  if (!holds.has(id)) holds.set(id, { free: 0, waiting: [] });
  return holds.get(id);
}

function letGo(id) {
  const held = hold(id);
  if (held.waiting.length > 0) held.waiting.shift()();
  else held.free += 1;
}

function handler(name, mode = 'pass') {
  return async (value, vars, { id, key, deliveries }) => {
    report({ handler: name, id, key, value: value ?? null, deliveries });
    if (mode === 'throw') throw new Error('told to fail');
    if (mode !== 'hold') return;
    const held = hold(id);
    if (held.free > 0) held.free -= 1;
    else await new Promise((resolve) => held.waiting.push(resolve));
  };
}

function parser(mode) {
  if (!mode) return undefined;
  return (raw) => {
    if (mode === 'throw') throw new Error('told to fail');
    return raw;
  };
}

const deeds = {
  open({ dir, options = {} }) {
    client = createUploadClient({ dir, onWarning, ...options });
  },
  define({ key, handler: mode, parser: reads }) {
    definitions.set(key, client.define({
      key, request: ({ request }) => request, response: parser(reads),
      onSuccess: handler('onSuccess', mode), onError: handler('onError', mode),
    }));
  },
  configure: ({ options: { headers, ...options } }) => client.configure({
    ...options, ...(headers && { headers: () => headers }),
  }),
  async mutate({ key, vars, id }) {
    const accepted = await definitions.get(key).mutate(vars, id === undefined ? {} : { id });
    return { id: accepted.id };
  },
  call: ({ name, args }) => client[name](...args),
  listen({ event }) {
    client.addListener(event, (params) => report({ event, params }));
  },
  let: ({ id }) => letGo(id),
  close: () => client.close(),
};

async function carryOut({ n, do: name, ...given }) {
  try {
    report({ n, done: await deeds[name](given) ?? null });
  } catch (error) {
    const { code = error.name, message, path = null } = error;
    report({ n, failed: { code, message, path } });
  }
}

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => carryOut(JSON.parse(line)));
lines.on('close', () => process.exit(0));
