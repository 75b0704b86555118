'use strict';

const { ClientError } = require('./errors.js');

/** JSON that goes into a frame as it stands, so that what was serialised once is not made anew. */
class JSONText {
  /** @param {string} text one JSON value */
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

/** @param {unknown} value a value, or a JSONText */
function textOf(value) {
  return value instanceof JSONText ? value.text : JSON.stringify(value);
}

/** @param {unknown} value a value, or a JSONText; gives the value that a receiver reads */
function valueOf(value) {
  return JSON.parse(textOf(value));
}

/**
 * @param {Record<string, unknown>} members values or JSONTexts; those that are undefined are left out
 * @returns {JSONText} one object
 */
function objectText(members) {
  const parts = Object.entries(members).filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${JSON.stringify(name)}:${textOf(value)}`);
  return new JSONText(`{${parts.join(',')}}`);
}

/** @param {unknown[]} items values or JSONTexts; gives one array */
function listText(items) {
  return new JSONText(`[${items.map(textOf).join(',')}]`);
}

/**
 * Serialises what a caller gave, and says what cannot be.
 * @param {unknown} value
 * @param {string} path where it stands, for the error
 * @returns {JSONText}
 * @throws {ClientError} E_INVALID
 */
function serialize(value, path) {
  let text;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw invalid(path, `is not JSON-serializable: ${error.message}`, error);
  }
  if (text === undefined) throw invalid(path, `must be JSON-serializable, got ${kindOf(value)}`);
  // Half a character is no text to anybody; JSON.stringify writes one as an escape.
  if (/\\ud[89a-f]/.test(text)) {
    const place = findLoneSurrogate(JSON.parse(text), path);
    if (place !== null) throw invalid(place, 'holds a lone surrogate, which is half a character');
  }
  return new JSONText(text);
}

const LONE = /(?<![\ud800-\udbff])[\udc00-\udfff]|[\ud800-\udbff](?![\udc00-\udfff])/;

function findLoneSurrogate(value, path) {
  if (typeof value === 'string') return LONE.test(value) ? path : null;
  if (value === null || typeof value !== 'object') return null;
  for (const [name, item] of Object.entries(value)) {
    if (LONE.test(name)) return path;
    const place = findLoneSurrogate(item, Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`);
    if (place !== null) return place;
  }
  return null;
}

/** What a value is, for people: `null`, `array`, or its type. */
function kindOf(value) {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}

function invalid(path, why, cause) {
  return new ClientError('E_INVALID', `${path} ${why}`, { path, cause });
}

module.exports = { JSONText, textOf, valueOf, listText, objectText, serialize, kindOf };
