'use strict';

const path = require('node:path');
const { chunkPlan } = require('./chunkplan.js');
const { UploadClient } = require('./client.js');
const { systemClock } = require('./clock.js');
const { CallError, ClientError, SidecarExited, SpawnError } = require('./errors.js');
const { checkOptions } = require('./settings.js');
const { Sidecar } = require('./sidecar.js');

/** See index.d.ts. */
function createUploadClient(options = {}) {
  checkOptions(options);
  const { background = false, onWarning, sidecar = ownSidecar(options) } = options;
  return new UploadClient({ sidecar, clock: systemClock, background, onWarning });
}

function ownSidecar({ dir, binary, env, cwd, args = [], background = false, ...switches }) {
  // A program may change its directory between two starts of the sidecar.
  const place = path.resolve(cwd ?? '', dir);
  const { keepAwake, virtualClock } = switches;
  const flags = [...onDisconnect(background), ...(keepAwake ? ['--keep-awake'] : []),
    ...(virtualClock ? ['--virtual-clock'] : []), ...args];
  const leaves = background !== false;
  return new Sidecar({ dir: place, binary, env, cwd, args: flags, leaves }, systemClock);
}

/** What the sidecar does when this process has gone; without the flag it stops, and keeps all work. */
function onDisconnect(background) {
  if (background === false) return [];
  return ['--on-disconnect', background === true ? 'drain' : `stay:${background}`];
}

module.exports = { createUploadClient, chunkPlan, CallError, ClientError, SidecarExited, SpawnError };
