'use strict';

const { ClientError } = require('./errors.js');
const { kindOf } = require('./json-text.js');

/**
 * A shape is a function of a value and the path at which it stands; it throws a ClientError with E_INVALID
 * that names the path.
 * @typedef {(value: unknown, path: string) => void} Shape
 */

function invalid(path, why) {
  return new ClientError('E_INVALID', `${path} ${why}`.trimStart(), { path });
}

/** Checks an argument of a method: the error's path is the one on the wire, its message names the method. */
function checkArgument(method, shape, given, path = '') {
  try {
    shape(given, path);
  } catch (error) {
    error.message = `${method}: ${error.message}`;
    throw error;
  }
}

const inside = (path, name) => (path === '' ? name : `${path}.${name}`);

/** Objects written as `{}`, also those of another realm. */
function isPlainObject(value) {
  if (value === null || typeof value !== 'object') return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** @returns {Shape} a value for which `fits` holds; `what` is said of others */
function value(what, fits) {
  return (given, path) => {
    if (!fits(given)) throw invalid(path, `must be ${what}, got ${shown(given)}`);
  };
}

function shown(given) {
  return ['number', 'boolean'].includes(typeof given) || given === null ? String(given) : kindOf(given);
}

const anything = () => {};
const text = value('a non-empty string', (given) => typeof given === 'string' && given !== '');
const anyText = value('a string', (given) => typeof given === 'string');
const flag = value('true or false', (given) => typeof given === 'boolean');

function integer(least, most = Number.MAX_SAFE_INTEGER) {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`;
  const fits = (given) => Number.isSafeInteger(given) && given >= least && given <= most;
  return value(`an integer ${range}`, fits);
}

function number(least, most) {
  return value(`a number from ${least} to ${most}`, (given) => given >= least && given <= most
    && typeof given === 'number');
}

function oneOf(...choices) {
  return (given, path) => {
    if (choices.includes(given)) return;
    const got = typeof given === 'string' ? JSON.stringify(given) : shown(given);
    throw invalid(path, `must be one of ${choices.join(', ')}, got ${got}`);
  };
}

/** A list, each item of this shape, at least `least` of them. */
function list(item, least = 0) {
  return (given, path) => {
    if (!Array.isArray(given)) throw invalid(path, `must be an array, got ${shown(given)}`);
    if (given.length < least) throw invalid(path, 'must not be empty');
    given.forEach((each, index) => item(each, `${path}[${index}]`));
  };
}

/** A map whose values have this shape. */
function map(item) {
  return (given, path) => {
    if (!isPlainObject(given)) throw invalid(path, `must be an object, got ${shown(given)}`);
    for (const [name, each] of Object.entries(given)) item(each, inside(path, name));
  };
}

/**
 * An object with these members and no others; a member that is undefined counts as absent.
 * @param {Record<string, Shape>} members
 * @param {string[]} [required]
 * @returns {Shape}
 */
function object(members, required = []) {
  return (given, path) => {
    if (!isPlainObject(given)) throw invalid(path, `must be an object, got ${shown(given)}`);
    for (const name of required) {
      if (given[name] === undefined) throw invalid(inside(path, name), 'is missing');
    }
    for (const [name, each] of Object.entries(given)) {
      if (!Object.hasOwn(members, name)) throw unknownField(name, Object.keys(members), path);
      if (each !== undefined) members[name](each, inside(path, name));
    }
  };
}

function unknownField(name, known, path) {
  const near = nearest(name, known);
  return invalid(inside(path, name), `is not a field${near ? `; did you mean ${near}?` : ''}`);
}

const FAR = 2;

/** The known name within two edits, case aside; undefined when none is so near. */
function nearest(name, known) {
  const distances = known.map((each) => [distance(name.toLowerCase(), each.toLowerCase()), each]);
  const [least] = distances.filter(([far]) => far <= FAR).sort(([a], [b]) => a - b);
  return least?.[1];
}

function distance(from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const swap = row[j - 1] + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(swap, row[j] + 1, next[j - 1] + 1));
    }
    row = next;
  }
  return row[to.length];
}

module.exports = {
  anyText, anything, checkArgument, flag, integer, invalid, isPlainObject, list, map, number, object, oneOf,
  text, value,
};
