'use strict';

/**
 * Calls what a definition has for an outcome; a missing handler takes it as well.
 * @param {{response?: Function, onSuccess?: Function, onError?: Function}} definition
 * @param {object} outcome completed or error
 * @returns {Promise<void>} rejects when the handler does
 */
async function outcomeToHandler(definition, outcome) {
  const { vars, response, partIndex } = outcome;
  const meta = metaOf(outcome);
  const fail = (error) => definition.onError?.(error, vars, meta);
  if (outcome.kind === 'error') {
    await fail(partIndex === undefined ? outcome.error : { ...outcome.error, partIndex });
  } else if (!definition.response) {
    await definition.onSuccess?.(response, vars, meta);
  } else if (response.bodyTruncated) {
    const message = 'the answer is longer than what was kept of it';
    await fail({ errorKind: 'truncated', message, response });
  } else {
    const { parsed, error } = parse(definition, response, vars);
    if (error) await fail(error);
    else await definition.onSuccess?.(parsed, vars, meta);
  }
}

function parse(definition, response, vars) {
  try {
    if (response.bodyBase64 !== undefined) throw new Error('the answer is no text, so it is not JSON');
    const parsed = definition.response(response.body ? JSON.parse(response.body) : undefined, vars);
    // A parser may be async; onSuccess gets its promise, and without onSuccess nobody would look at it.
    if (!definition.onSuccess && typeof parsed?.then === 'function') parsed.then(undefined, () => {});
    return { parsed };
  } catch (cause) {
    return { error: { errorKind: 'unknown', message: cause?.message ?? String(cause), response, cause } };
  }
}

function metaOf({ id, key, at, attempts, requestId, deliveries = 1, group }) {
  return {
    id, key, at, attempts, ...(requestId === undefined ? {} : { requestId }), deliveries,
    ...(group === undefined ? {} : { group }),
  };
}

module.exports = { outcomeToHandler };
