'use strict';

const { ClientError } = require('./errors.js');
const { LIMITS } = require('./protocol.js');

/** As many ranges of `max` as fit, then the rest; a rest under `min` joins the range before it. */
function chunkPlan(size, { min = LIMITS.chunkMin, max = LIMITS.chunkMax } = {}) {
  requireInteger('size', size, 0);
  requireInteger('min', min, 1);
  requireInteger('max', max, min);
  const full = Math.floor(size / max);
  const rest = size - full * max;
  const count = full === 0 || rest >= min ? full + (rest > 0 || full === 0 ? 1 : 0) : full;
  if (count > LIMITS.maxRanges) {
    throw invalid('max', `gives ${count} ranges, at most ${LIMITS.maxRanges}`);
  }
  const ranges = [];
  for (let index = 0; index < count; index++) {
    ranges.push({ start: index * max, end: index === count - 1 ? size : (index + 1) * max });
  }
  return ranges;
}

function requireInteger(name, value, least) {
  if (!Number.isSafeInteger(value) || value < least) {
    throw invalid(name, `must be an integer of at least ${least}, got ${String(value)}`);
  }
}

function invalid(name, why) {
  return new ClientError('E_INVALID', `chunkPlan: ${name} ${why}`, { path: name });
}

module.exports = { chunkPlan };
