'use strict';

const { MEMBERS, REQUEST_METHODS } = require('./protocol.js');
const {
  anyText, anything, flag, integer, invalid, isPlainObject, list, map, number, object, oneOf, text, value,
} = require('./shapes.js');

const BODIES = ['data', 'form', 'file'];
const NEVER_TRANSIENT = [401, 403, 408, 429];

const headers = map(anyText);
const range = object({ start: integer(0), end: integer(0) }, ['start', 'end']);
const backoff = object(
  { baseMs: integer(1), maxMs: integer(1), jitter: number(0, 1) }, ['baseMs', 'maxMs', 'jitter']);
const transientStatus = value(
  `a status from 400 to 499, but not ${NEVER_TRANSIENT.join(', ')}`,
  (given) => Number.isInteger(given) && given >= 400 && given <= 499 && !NEVER_TRANSIENT.includes(given));
const retry = object({
  backoff,
  terminalHttp: object({ exempt: list(integer(400, 499)) }, ['exempt']),
  transient: list(object(
    { status: transientStatus, bodyIncludes: anyText, maxRetries: integer(0) }, ['status'])),
});

const fields = {
  url: text,
  method: oneOf(...REQUEST_METHODS),
  headers,
  data: anything,
  form: list(formField, 1),
  file: text,
  parts: list(object({ url: text, headers, range }, ['url', 'range']), 1),
  accept: list(object({ status: integer(100, 599), bodyIncludes: anyText }, ['status'])),
  expiresAt: integer(1),
  retry,
  wifiOnly: flag,
  priority: oneOf('high', 'normal'),
  timeouts: object({ connectMs: integer(1), stallMs: integer(1), responseMs: integer(1) }),
  idempotencyKey: value('false or a non-empty string',
    (given) => given === false || (typeof given === 'string' && given !== '')),
  staging: oneOf('copy', 'move', 'reference'),
  boundOrigin: flag,
};
// A field of the contract that is not known here would be refused without need.
const described = object(Object.fromEntries(
  MEMBERS.Descriptor.map((name) => [name, fields[name] ?? anything])));

/**
 * Checks what `request` returned, as far as that can be done without the sidecar.
 * @param {unknown} descriptor
 * @throws {import('./errors.js').ClientError} E_INVALID; `path` is such as `request.parts[2].url`
 */
function checkDescriptor(descriptor) {
  const path = 'request';
  if (!isPlainObject(descriptor)) {
    const got = typeof descriptor?.then === 'function' ? ', got a promise' : '';
    throw invalid(path, `must return a descriptor object${got}`);
  }
  described(descriptor, path);
  const bodies = BODIES.filter((name) => descriptor[name] !== undefined);
  if (bodies.length > 1) throw invalid(path, `sets ${bodies.join(' and ')}, at most one body is allowed`);
  if (descriptor.method === 'GET' && bodies.length === 1) {
    throw invalid(`${path}.${bodies[0]}`, 'is a body, and a GET has none');
  }
  if (descriptor.parts !== undefined) checkParts(descriptor, `${path}.parts`);
  else if (descriptor.url === undefined) throw invalid(`${path}.url`, 'is missing');
}

function formField(given, path) {
  object({ name: text, contentType: text, string: anyText, path: text, fileName: text },
    ['name', 'contentType'])(given, path);
  if ((given.string === undefined) === (given.path === undefined)) {
    throw invalid(path, 'must have exactly one of string and path');
  }
}

function checkParts({ parts, file }, path) {
  if (file === undefined) throw invalid(path, 'need a file');
  let next = 0;
  parts.forEach(({ range: { start, end } }, index) => {
    const isEmptyFile = parts.length === 1 && start === 0 && end === 0;
    const range = `${path}[${index}].range`;
    if (end <= start && !isEmptyFile) throw invalid(`${range}.end`, 'must be behind its start');
    if (start !== next) throw invalid(`${range}.start`, `must be ${next}, got ${start}`);
    next = end;
  });
}

module.exports = { checkDescriptor, checkHeaders: headers };
