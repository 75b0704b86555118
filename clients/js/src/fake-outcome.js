'use strict';

const { randomUUID } = require('node:crypto');

/** The last part of a file that goes in parts, else the request itself: it was the last attempt. */
function lastRequest({ url, method = 'POST', parts } = {}) {
  const last = parts?.at(-1);
  const place = last && { partIndex: parts.length - 1 };
  return { url: last?.url ?? url ?? 'https://fake.test/', method, ...place };
}

const contents = {
  completed: ({ response = {} }, isParts) => ({
    response: {
      ...(isParts ? {} : { status: 200, headers: {}, body: '' }), bodyTruncated: false, ...response,
    },
  }),
  error: ({ error = {} }) => ({
    error: { errorKind: 'http', message: 'made by the fake', ...error },
  }),
  cancelled: ({ cancelReason = 'user' }) => ({ cancelReason }),
};

/**
 * An outcome as the sidecar would write it.
 * @param {object} row the entry's row
 * @param {object | undefined} request its descriptor, when it was enqueued here
 * @param {object} given members that are to be as given; `response` and `error` are laid over what is usual
 * @returns {object} the params of a `settled` event
 */
function makeOutcome(row, request, given) {
  const { kind = 'completed' } = given;
  return {
    eventId: randomUUID(),
    id: row.id,
    key: row.key,
    vars: row.vars,
    at: Date.now(),
    generation: row.generation ?? 1,
    attempts: Math.max(row.attempts ?? 0, kind === 'cancelled' ? 0 : 1),
    ...(kind === 'cancelled' ? {} : { requestId: randomUUID() }),
    deliveries: 0,
    state: kind,
    bytesSent: kind === 'completed' ? row.totalBytes : row.bytesSent,
    totalBytes: row.totalBytes,
    ...(row.group === undefined ? {} : { group: row.group }),
    ...(row.lane === undefined ? {} : { lane: row.lane }),
    ...lastRequest(request),
    kind,
    ...given,
    ...contents[kind]?.(given, request?.parts !== undefined),
  };
}

module.exports = { makeOutcome };
