'use strict';

const { randomUUID } = require('node:crypto');
const { checkDescriptor, checkHeaders } = require('./descriptor.js');
const { layHeaders } = require('./headers.js');
const { kindOf, objectText, serialize } = require('./json-text.js');
const { checkArgument, invalid, object, text } = require('./shapes.js');

const mutateOptions = object({ id: text });

/**
 * Makes the params of one enqueue. Nothing of it reaches the sidecar when this throws.
 * @param {{key: string, request: Function}} definition
 * @param {unknown} vars
 * @param {{id?: string}} options
 * @param {import('./settings.js').Settings} settings
 * @param {import('./clock.js').Clock} clock
 * @returns {{id: string, params: import('./json-text.js').JSONText}}
 * @throws {import('./errors.js').ClientError} E_INVALID; and what `request` and the provider of headers throw
 */
function enqueueParams(definition, vars = null, options, settings, clock) {
  const varsText = serializeVars(vars, settings.maxVarsBytes);
  checkArgument('mutate', mutateOptions, options);
  const descriptor = definition.request(vars);
  checkDescriptor(descriptor);
  const { data, headers = {}, expiresAt, ...rest } = descriptor;
  const under = settings.headers();
  checkHeaders(under, 'configure.headers()');
  const merged = layHeaders(under, headers);
  const { lifetimeMs } = settings;
  const request = objectText({
    ...JSON.parse(serialize(rest, 'request').text),
    ...(Object.keys(merged).length === 0 ? {} : { headers: serialize(merged, 'request.headers') }),
    expiresAt: expiresAt ?? (lifetimeMs === undefined ? undefined : clock.now() + lifetimeMs),
    data: data === undefined ? undefined : serialize(data, 'request.data'),
  });
  const { id = randomUUID() } = options;
  return { id, params: objectText({ id, key: definition.key, vars: varsText, request }) };
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

module.exports = { enqueueParams };
