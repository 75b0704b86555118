#!/usr/bin/env node
// A sidecar for the client's tests: answers calls by name, misbehaves when told to. Not a queue.
import { createInterface } from 'node:readline';

const limits = { maxLine: 64 * 1024 * 1024, maxVars: 8 * 1024 * 1024, maxInFlight: 4096, maxWindow: 1024 };
const write = (text) => process.stdout.write(text);
const frame = (object) => write(`${JSON.stringify({ jsonrpc: '2.0', ...object })}\n`);

const methods = {
  initialize: () => ({ protocolVersion: 1, role: 'owner', pid: process.pid, limits }),
  subscribe: () => ({}),
  unsubscribe: () => ({}),
  echo: (params) => params,
  arguments: () => process.argv.slice(2),
  long: ({ bytes }) => ({ text: 'x'.repeat(bytes) }),
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

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'never') return;
  if (methods[method]) {
    frame({ id, result: methods[method](params) });
  } else if (deeds[method]) {
    if (method !== 'die') frame({ id, result: {} });
    deeds[method](params);
  } else {
    frame({ id, error: { code: -32601, message: `unknown method ${method}`, data: { code: 'E_METHOD' } } });
  }
});
