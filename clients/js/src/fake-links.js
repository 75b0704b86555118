'use strict';

const { CallError } = require('./errors.js');

const SETTLED = ['completed', 'error', 'cancelled'];
const BOUND = /\{([^{}]*)\}/g;

function refuse(path, why) {
  const data = { code: 'E_INVALID', path };
  return new CallError('enqueue', { code: -32602, message: `${path}: ${why}`, data });
}

/** The entries that an enqueue names, each with the path at which it does. */
const namesIn = ({ after = [], bind = {} }) => [
  ...after.map((id, index) => [`after[${index}]`, id]),
  ...Object.entries(bind).map(([name, { entry }]) => [`bind.${name}.entry`, entry]),
];

/** What the entries of the fake wait for: other entries, values from their answers, their turn in a lane. */
class FakeLinks {
  #links = new Map();
  #rows;
  #outcomes = new Map();
  #order = 0;

  /** @param {Map<string, object>} rows those of the queue, by id */
  constructor(rows) {
    this.#rows = rows;
  }

  clear() {
    this.#links.clear();
    this.#outcomes.clear();
  }

  /**
   * Refuses what cannot be linked, before any of it is taken.
   * @param {object[]} entries the params of enqueues
   * @param {(index: number) => string} place what stands before the path of an error
   */
  check(entries, place) {
    const given = new Map(entries.map((entry) => [entry.id, entry]));
    entries.forEach((entry, index) => {
      if (entries.findIndex(({ id }) => id === entry.id) < index) {
        throw refuse(`${place(index)}id`, 'is the id of another entry as well');
      }
      checkTemplate(entry, place(index));
      for (const [path, id] of namesIn(entry)) {
        const isThere = given.has(id) || this.#rows.has(id);
        if (!isThere) throw refuse(`${place(index)}${path}`, 'names no entry');
        if (id === entry.id) throw refuse(`${place(index)}${path}`, 'must not name the entry itself');
        if (this.#reaches(id, entry.id, given, new Set())) {
          throw refuse(`${place(index)}after`, `must not make a circle: ${id} waits for it`);
        }
      }
      for (const [name, { entry: id }] of Object.entries(entry.bind ?? {})) {
        const isGone = this.#rows.get(id)?.state === 'completed' && !this.#outcomes.has(id);
        if (!isGone || given.has(id)) continue;
        throw refuse(`${place(index)}bind.${name}`, 'names an entry whose answer was acknowledged');
      }
    });
  }

  /** Whether an entry waits for another one, over any number of steps. */
  #reaches(from, to, given, seen) {
    if (from === to) return true;
    if (seen.has(from)) return false;
    seen.add(from);
    const next = given.has(from) ? namesIn(given.get(from)).map(([, id]) => id)
      : [...this.#links.get(from)?.unmet ?? []];
    return next.some((id) => this.#reaches(id, to, given, seen));
  }

  /** Takes what an entry waits for; gives why it cannot go on at all, if that is so. */
  add({ id, after, bind = {}, onFailure = 'wait' }) {
    const before = this.#links.get(id);
    const isLive = before && !before.isOver;
    const all = new Set(namesIn({ after, bind }).map(([, other]) => other));
    const link = {
      bind, onFailure, all, unmet: new Set(all), values: isLive ? before.values : {},
      order: isLive ? before.order : this.#order++,
    };
    this.#links.set(id, link);
    for (const other of all) {
      const state = this.#rows.get(other)?.state;
      const why = state === 'completed' ? this.#meet(link, other) : this.#fails(link, other, state);
      if (why) return why;
    }
    return undefined;
  }

  /** An entry lives again, at the end of its lane. */
  reopened(id) {
    const link = this.#links.get(id);
    if (link) Object.assign(link, { isOver: false, order: this.#order++ });
  }

  forget(id) {
    this.#links.delete(id);
    this.#outcomes.delete(id);
  }

  /** The answer of an entry was acknowledged; nobody can take a value from it any more. */
  acknowledged(id) {
    this.#outcomes.delete(id);
  }

  /** Whether another entry that is there was enqueued to wait for this one. */
  isNeeded(id) {
    return [...this.#links].some(([other, { all }]) => all.has(id) && this.#rows.has(other));
  }

  /** An entry has settled. Gives those that end by it, each with the reason. */
  settled(outcome) {
    const { id, state } = outcome;
    if (state === 'completed') this.#outcomes.set(id, outcome);
    const own = this.#links.get(id);
    if (own) own.isOver = true;
    const waiting = [...this.#links].filter(([other, { unmet }]) => (
      unmet.has(id) && !SETTLED.includes(this.#rows.get(other)?.state)));
    return waiting.map(([other, link]) => (
      [other, state === 'completed' ? this.#meet(link, id) : this.#fails(link, id, state)]))
      .filter(([, why]) => why);
  }

  /** What an entry waits for, in words; undefined when it may go. */
  gateOf(id) {
    const { unmet, order } = this.#links.get(id) ?? { unmet: new Set(), order: 0 };
    if (unmet.size > 0) return { gate: 'dependency', detail: `waits for ${[...unmet].join(', ')}` };
    const { lane } = this.#rows.get(id);
    const front = lane === undefined ? undefined : [...this.#rows.values()].find((row) => (
      row.lane === lane && !SETTLED.includes(row.state) && this.#links.get(row.id)?.order < order));
    return front && { gate: 'lane', detail: `${front.id} is in front of it in the lane ${lane}` };
  }

  /** The request as it would be sent, with the values in their places. */
  expand(id, request) {
    const { values, bind } = this.#links.get(id) ?? { bind: {} };
    if (Object.keys(bind).length === 0) return structuredClone(request);
    const inText = (encode) => (text) => text.replace(BOUND, (_, name) => encode(values[name]));
    const inUrl = inText(request.boundOrigin ? String : encoded);
    const inHeaders = (headers) => headers && Object.fromEntries(
      Object.entries(headers).map(([name, text]) => [name, inText(String)(text)]));
    const { url, headers, data, parts } = request;
    return structuredClone({
      ...request,
      ...(url && { url: inUrl(url) }),
      ...(headers && { headers: inHeaders(headers) }),
      ...(parts && { parts: parts.map((part) => ({ ...part, url: inUrl(part.url), ...(part.headers && {
        headers: inHeaders(part.headers) }) })) }),
      ...(data !== undefined && { data: filled(data, values) }),
    });
  }

  #fails({ onFailure }, id, state) {
    if (onFailure !== 'settle' || !['error', 'cancelled'].includes(state)) return undefined;
    return state === 'error' ? `${id} settled with an error` : `${id} was cancelled`;
  }

  #meet(link, id) {
    link.unmet.delete(id);
    for (const [name, { entry, pointer, header }] of Object.entries(link.bind)) {
      if (entry !== id) continue;
      // Its answer was acknowledged, and the value was taken when it completed.
      if (!this.#outcomes.has(id) && Object.hasOwn(link.values, name)) continue;
      const { body, headers } = this.#outcomes.get(id)?.response ?? {};
      const value = header === undefined ? at(body, pointer) : headers?.[header.toLowerCase()];
      const missing = header ?? (pointer || 'JSON');
      if (value === undefined) return `bind.${name}: the answer of ${id} has no ${missing}`;
      link.values[name] = value;
    }
    return undefined;
  }
}

/** The value at a JSON Pointer in a text; undefined when there is none. */
function at(text, pointer) {
  try {
    const names = pointer.split('/').slice(1).map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
    return names.reduce((value, name) => (
      value !== null && typeof value === 'object' && Object.hasOwn(value, name) ? value[name] : undefined
    ), JSON.parse(text));
  } catch {
    return undefined;
  }
}

const encoded = (value) => encodeURIComponent(value)
  .replace(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);

function filled(value, values) {
  if (value === null || typeof value !== 'object') return value;
  if ('$bind' in value) return values[value.$bind];
  if (Array.isArray(value)) return value.map((each) => filled(each, values));
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, filled(each, values)]));
}

/** Every name in a request is one that `bind` gives; without `bind` all is plain text. */
function checkTemplate({ bind, request }, place) {
  if (bind === undefined) return;
  const inText = (text, path) => {
    for (const [, name] of text.matchAll(BOUND)) {
      if (Object.hasOwn(bind, name)) continue;
      throw refuse(`${place}request.${path}`, `holds {${name}}, which bind does not name`);
    }
  };
  const inData = (value, path) => {
    if (value === null || typeof value !== 'object') return;
    if ('$bind' in value && (Object.keys(value).length > 1 || !Object.hasOwn(bind, value.$bind))) {
      throw refuse(`${place}request.${path}`, 'must have $bind alone, with a name of bind');
    }
    const inside = (name) => (Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`);
    for (const [name, each] of Object.entries(value)) inData(each, inside(name));
  };
  const { url, headers = {}, data, parts = [] } = request;
  if (url !== undefined) inText(url, 'url');
  for (const [name, text] of Object.entries(headers)) inText(text, `headers.${name}`);
  parts.forEach((part, index) => inText(part.url, `parts[${index}].url`));
  inData(data, 'data');
}

module.exports = { FakeLinks };
