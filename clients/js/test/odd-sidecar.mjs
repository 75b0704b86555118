#!/usr/bin/env node
// A sidecar for the client's tests: answers calls by name, misbehaves when told to. Not a queue. What it is
// told comes as a method, or as the key of an enqueue whose vars are then the params.
import { createInterface } from 'node:readline';

const limits = { maxLine: 64 * 1024 * 1024, maxVars: 8 * 1024 * 1024, maxInFlight: 4096, maxWindow: 1024 };
const write = (text) => process.stdout.write(text);
const frame = (object) => write(`${JSON.stringify({ jsonrpc: '2.0', ...object })}\n`);

const enqueued = [];
const methods = {
  initialize: () => ({ protocolVersion: 1, role: 'owner', pid: process.pid, limits }),
  configure: () => ({}),
  subscribe: () => ({}),
  unsubscribe: () => ({}),
  ackEvents: () => ({}),
  ping: () => ({ now: 0 }),
  stats: () => ({ pid: process.pid, enqueued }),
  echo: (params) => params,
  arguments: () => process.argv.slice(2),
  long: ({ bytes }) => ({ text: 'x'.repeat(bytes) }),
  enqueue: ({ id }) => enqueued.push(id) && { id, generation: 1, disposition: 'created', row: { id } },
};

const deeds = {
  die: ({ status, stderr }) => process.stderr.write(stderr, () => process.exit(status)),
  flood: ({ bytes }) => process.stderr.write(`${'f'.repeat(bytes)}the end\n`),
  ignoreTerm: () => process.on('SIGTERM', () => {}),
  stay: () => setInterval(() => {}, 1000),
  emit: ({ method, params, times }) => {
    for (let i = 0; i < (times ?? 1); i++) frame({ method, params });
  },
  babble: ({ text }) => write(text),
};

function perform(id, method, params) {
  if (method === 'enqueue' && params.key === 'refused') {
    frame({ id, error: { code: -32602, message: 'refused', data: { code: 'E_INVALID' } } });
    return;
  }
  if (method === 'never') return;
  if (method === 'ending') {
    frame({ id, error: { code: 1007, message: 'the sidecar is ending', data: { code: 'E_SHUTDOWN' } } });
    process.exit(0);
  }
  if (method === 'enqueue' && (deeds[params.key] || ['never', 'ending'].includes(params.key))) {
    perform(id, params.key, params.vars);
  } else if (methods[method]) {
    frame({ id, result: methods[method](params) });
  } else if (deeds[method]) {
    if (method !== 'die') frame({ id, result: {} });
    deeds[method](params);
  } else {
    frame({ id, error: { code: -32601, message: `unknown method ${method}`, data: { code: 'E_METHOD' } } });
  }
}

if (process.env.ODD_SILENT) setInterval(() => {}, 1000);
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (!process.env.ODD_SILENT) perform(id, method, params);
});
