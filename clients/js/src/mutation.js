'use strict';

const { randomUUID } = require('node:crypto');
const { boundOf } = require('./bound.js');
const { checkDescriptor, checkHeaders } = require('./descriptor.js');
const { layHeaders } = require('./headers.js');
const { kindOf, objectText, serialize } = require('./json-text.js');
const {
  anyText, checkArgument, integer, invalid, isPlainObject, list, object, oneOf, text, value,
} = require('./shapes.js');

const BOUND_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

const together = {
  group: text,
  lane: text,
  onFailure: oneOf('wait', 'settle'),
  weight: value('a number above 0 and at most 1e9',
    (given) => typeof given === 'number' && given > 0 && given <= 1e9),
  deadlineMs: integer(1),
  groupDeadlineMs: integer(1),
};
const binding = object({
  entry: text,
  pointer: value("'' or a text that begins with /",
    (given) => typeof given === 'string' && /^(\/|$)/.test(given)),
  header: text,
}, ['entry']);
const mutateOptions = object({ ...together, id: text, after: list(entry), bind: bindings });
const pipelineOptions = object(together);

/** An id, or what has one: a step, or what mutate gave. */
function entry(given, path) {
  if (typeof given === 'object' && given !== null) text(given.id, `${path}.id`);
  else text(given, path);
}

function bindings(given, path) {
  if (!isPlainObject(given)) throw invalid(path, 'must be an object');
  for (const [name, each] of Object.entries(given)) {
    const place = `${path}.${name}`;
    if (!BOUND_NAME.test(name)) {
      throw invalid(place, 'must have a name of letters, digits and _ that begins with no digit');
    }
    binding(each, place);
    if ((each.pointer === undefined) === (each.header === undefined)) {
      throw invalid(place, 'must have exactly one of pointer and header');
    }
  }
}

/** Checks what a pipeline gives to each of its steps. */
function checkTogether(method, options) {
  checkArgument(method, pipelineOptions, options);
}

/**
 * Makes the params of one enqueue. Nothing of it reaches the sidecar when this throws.
 * @param {string} method who asks, for the errors
 * @param {{key: string, request: Function}} definition
 * @param {unknown} vars
 * @param {object} options
 * @param {import('./settings.js').Settings} settings
 * @param {import('./clock.js').Clock} clock
 * @returns {{id: string, group?: string, params: import('./json-text.js').JSONText}}
 * @throws {import('./errors.js').ClientError} E_INVALID; and what `request` and the provider of headers throw
 */
function enqueueParams(method, definition, vars = null, options, settings, clock) {
  const varsText = serializeVars(vars, settings.maxVarsBytes);
  checkArgument(method, mutateOptions, options);
  const { id = randomUUID(), after, ...rules } = options;
  if (rules.groupDeadlineMs !== undefined && rules.group === undefined) {
    throw invalid('groupDeadlineMs', 'needs a group');
  }
  const descriptor = definition.request(vars, boundOf(rules.bind));
  checkDescriptor(descriptor);
  checkBoundUrls(descriptor, Object.keys(rules.bind ?? {}));
  const request = requestText(descriptor, settings, clock);
  const params = objectText({
    id, key: definition.key, vars: varsText, request, ...rules, after: after?.map((each) => each.id ?? each),
  });
  return { id, group: rules.group, params };
}

/** What encodes a url in `request` would hide the names from the sidecar, which encodes the values itself. */
function checkBoundUrls({ url, parts = [] }, names) {
  const urls = parts.map((part, index) => [`parts[${index}].url`, part.url]);
  for (const [path, each = ''] of [['url', url], ...urls]) {
    const hidden = names.find((name) => each.includes(`%7B${name}%7D`));
    if (hidden === undefined) continue;
    throw invalid(`request.${path}`, `has {${hidden}} percent-encoded; bound values are encoded when sent`);
  }
}

function requestText(descriptor, settings, clock) {
  const { data, headers = {}, expiresAt, ...rest } = descriptor;
  const under = settings.headers();
  checkHeaders(under, 'configure.headers()');
  const merged = layHeaders(under, headers);
  const { lifetimeMs } = settings;
  return objectText({
    ...JSON.parse(serialize(rest, 'request').text),
    ...(Object.keys(merged).length === 0 ? {} : { headers: serialize(merged, 'request.headers') }),
    expiresAt: expiresAt ?? (lifetimeMs === undefined ? undefined : clock.now() + lifetimeMs),
    data: data === undefined ? undefined : serialize(data, 'request.data'),
  });
}

function serializeVars(vars, maxVarsBytes) {
  if (vars !== null && typeof vars !== 'object') {
    throw invalid('vars', `must be an object, an array or null, got ${kindOf(vars)}`);
  }
  const varsText = serialize(vars, 'vars');
  // What toJSON of a date or another object leaves may be no object any more.
  if (!/^[[{n]/.test(varsText.text)) throw invalid('vars', 'must serialize to an object, an array or null');
  const bytes = Buffer.byteLength(varsText.text);
  if (bytes > maxVarsBytes) {
    throw invalid('vars', `are ${bytes} bytes of JSON, at most ${maxVarsBytes} are allowed`);
  }
  return varsText;
}

module.exports = { checkTogether, enqueueParams };
