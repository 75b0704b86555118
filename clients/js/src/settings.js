'use strict';

const { ClientError } = require('./errors.js');
const { LIMITS, MEMBERS } = require('./protocol.js');
const { anything, flag, integer, list, object, text, value } = require('./shapes.js');

const MAX_VARS_BYTES = 1024 * 1024;
const ENQUEUE_TIMEOUT_MS = 10_000;

const aFunction = value('a function', (given) => typeof given === 'function');
const orNull = (shape) => (given, path) => given === null || shape(given, path);
const positive = value('a finite number above 0', (given) => Number.isFinite(given) && given > 0);

const configuration = object({
  ...Object.fromEntries(MEMBERS.configure.map((name) => [name, anything])),
  lifetimeMs: orNull(integer(1)),
  headers: aFunction,
  maxVarsBytes: positive,
  enqueueTimeoutMs: positive,
  onWarning: aFunction,
});

const options = object({
  dir: text,
  binary: text,
  args: list(text),
  cwd: text,
  env: anything,
  background: value('true, false or a whole number of seconds',
    (given) => typeof given === 'boolean' || (Number.isSafeInteger(given) && given > 0)),
  keepAwake: flag,
  virtualClock: flag,
  onWarning: aFunction,
  sidecar: anything,
});

/** @throws {ClientError} E_INVALID, naming the option */
function checkOptions(given) {
  options(given, 'options');
  if (given.dir === undefined && given.sidecar === undefined) {
    throw new ClientError('E_INVALID', 'options.dir is missing', { path: 'options.dir' });
  }
}

/** What `configure` decides: one part for the sidecar, one for the client itself. */
class Settings {
  headers = () => ({});
  maxVarsBytes = MAX_VARS_BYTES;
  enqueueTimeoutMs = ENQUEUE_TIMEOUT_MS;
  /** The default lifetime in milliseconds, when this client has set one; else the sidecar's counts. */
  lifetimeMs;

  /**
   * Takes what is given, all of it or nothing; what is absent stays.
   * @returns {object} the members for the sidecar
   * @throws {ClientError} E_INVALID, naming the option
   */
  take(given) {
    configuration(given, 'configure');
    const present = Object.entries(given).filter(([, each]) => each !== undefined);
    for (const [name, each] of present) {
      if (['headers', 'maxVarsBytes', 'enqueueTimeoutMs'].includes(name)) this[name] = each;
    }
    if (given.lifetimeMs !== undefined) this.lifetimeMs = given.lifetimeMs ?? LIMITS.lifetimeMs;
    return Object.fromEntries(present.filter(([name]) => MEMBERS.configure.includes(name)));
  }
}

module.exports = { Settings, checkOptions };
