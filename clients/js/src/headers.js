'use strict';

/**
 * Lays headers over others. Names match without regard to case, and the spelling of the upper ones stays.
 * @param {Record<string, string>} under
 * @param {Record<string, string>} over
 * @returns {Record<string, string>}
 */
function layHeaders(under, over) {
  const covered = new Set(Object.keys(over).map((name) => name.toLowerCase()));
  const left = Object.entries(under).filter(([name]) => !covered.has(name.toLowerCase()));
  return Object.fromEntries([...left, ...Object.entries(over)]);
}

module.exports = { layHeaders };
