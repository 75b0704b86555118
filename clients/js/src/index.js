'use strict';

const { chunkPlan } = require('./chunkplan.js');
const { UploadClient } = require('./client.js');
const { systemClock } = require('./clock.js');
const { CallError, ClientError, SidecarExited, SpawnError } = require('./errors.js');
const { checkOptions } = require('./settings.js');
const { Sidecar } = require('./sidecar.js');

/** See index.d.ts. */
function createUploadClient(options = {}) {
  checkOptions(options);
  const { background = false, onWarning, sidecar, ...rest } = options;
  const process = { ...rest, args: [...onDisconnect(background), ...(rest.args ?? [])] };
  return new UploadClient({
    sidecar: sidecar ?? new Sidecar(process, systemClock), clock: systemClock, background, onWarning,
  });
}

/** What the sidecar does when this process has gone; without the flag it stops, and keeps all work. */
function onDisconnect(background) {
  if (background === false) return [];
  return ['--on-disconnect', background === true ? 'drain' : `stay:${background}`];
}

module.exports = { createUploadClient, chunkPlan, CallError, ClientError, SidecarExited, SpawnError };
