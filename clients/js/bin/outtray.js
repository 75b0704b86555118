#!/usr/bin/env node
'use strict';

// `npx outtray`: runs the sidecar's own command line. The client starts the executable itself, never this.
const { spawn } = require('node:child_process');
const { constants } = require('node:os');
const { findBinary } = require('../src/binary.js');

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP'];

function fail(error) {
  console.error(`outtray: ${error.message}`);
  process.exit(70);
}

try {
  const { file } = findBinary(undefined, process.env);
  const child = spawn(file, process.argv.slice(2), { stdio: 'inherit' });
  for (const signal of FORWARDED) process.on(signal, () => child.kill(signal));
  child.once('error', fail);
  child.once('exit', (status, signal) => process.exit(status ?? 128 + constants.signals[signal]));
} catch (error) {
  fail(error);
}
