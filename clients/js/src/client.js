'use strict';

const { Delivery } = require('./delivery.js');
const { chunkPlan } = require('./chunkplan.js');
const { ClientError, SidecarExited } = require('./errors.js');
const { Expected } = require('./expected.js');
const { listText, objectText } = require('./json-text.js');
const { Listeners } = require('./listeners.js');
const { enqueueParams } = require('./mutation.js');
const { Pipeline } = require('./pipeline.js');
const { Settings } = require('./settings.js');
const { checkArgument, flag, integer, invalid, list, object, oneOf, text } = require('./shapes.js');
const { Subscription } = require('./subscription.js');

/** How long `close` waits for handlers that run. */
const HANDLERS_MS = 5000;

const scopeShape = object({ keys: list(text), groups: list(text) });
const filterShape = object({ key: text, id: text, state: text, group: text });
const limitsShape = object({ keys: list(text), origin: text });
const networkShape = object(
  { type: oneOf('auto', 'wifi', 'ethernet', 'cellular', 'none'), metered: flag }, ['type']);

/** A client of one queue. index.d.ts documents each method. */
class UploadClient {
  #sidecar;
  #clock;
  #background;
  #onWarning;
  #definitions = new Map();
  /** What define gave, for each its key. */
  #keys = new WeakMap();
  #settings = new Settings();
  #listeners;
  #delivery;
  #subscription;
  #network = null;
  #expected = new Expected();
  #closing = null;

  constructor({ sidecar, clock, background = false, onWarning }) {
    this.#sidecar = sidecar;
    this.#clock = clock;
    this.#background = background !== false;
    this.#onWarning = onWarning;
    const warn = (message, detail) => this.#warn(message, detail);
    this.#listeners = new Listeners(warn, () => this.#updateHold());
    this.#subscription = new Subscription(clock, warn);
    this.#delivery = new Delivery(this.#definitions, {
      acknowledge: (eventId) => sidecar.call('ackEvents', { eventIds: [eventId] }),
      release: (eventId) => sidecar.call('releaseEvents', { eventIds: [eventId] }),
      onUnhandled: (row) => this.#listeners.emit('state', row),
      warn,
    }, clock);
    sidecar.attach({
      greet: (call) => this.#greet(call),
      onEvent: (event, params) => this.#receive(event, params),
      onExit: (exit) => warn(`${exit.message}; the next call starts it again`, exit),
      onNoise: (why, bytes) => warn(`a line of ${bytes} bytes from the sidecar is skipped: ${why}`),
    });
  }

  define(definition) {
    const { key, request } = definition ?? {};
    if (typeof key !== 'string' || key === '') throw invalid('define.key', 'must be a non-empty string');
    if (typeof request !== 'function') throw invalid('define.request', 'must be a function');
    for (const name of ['response', 'onSuccess', 'onError']) {
      const part = definition[name];
      if (part === undefined || typeof part === 'function') continue;
      throw invalid(`define.${name}`, 'must be a function');
    }
    if (this.#definitions.has(key)) this.#warn(`the key ${key} is defined again; the new definition counts`);
    this.#definitions.set(key, definition);
    const defined = Object.freeze({ key, mutate: (vars, options) => this.#mutate(key, vars, options) });
    this.#keys.set(defined, key);
    return defined;
  }

  pipeline(options) {
    return new Pipeline(options, {
      make: (definition, vars, given) => this.#make('pipeline.add', this.#keyOf(definition), vars, given),
      send: (entries) => this.#enqueueAll(entries),
    });
  }

  onGroupSettled(handler) {
    if (typeof handler !== 'function') throw invalid('handler', 'must be a function');
    if (this.#delivery.groupHandler) this.#warn('onGroupSettled was called again; the new handler counts');
    this.#delivery.groupHandler = handler;
    this.#updateHold();
  }

  configure(options = {}) {
    const members = this.#settings.take(options);
    if (options.onWarning) this.#onWarning = options.onWarning;
    this.#subscription.want();
    this.#updateHold();
    const done = this.#configure(members);
    // The warning tells those who do not wait for it.
    done.catch((error) => this.#warn(`configure failed: ${error.message}`, error));
    return done;
  }

  async pause(scope) {
    await this.#sidecar.call('pause', checkScope('pause', scope));
  }

  async resume(scope) {
    await this.#sidecar.call('resume', checkScope('resume', scope));
  }

  async cancel(id) {
    checkArgument('cancel', text, id, 'id');
    await this.#sidecar.call('cancel', { id });
  }

  async cancelGroup(group) {
    checkArgument('cancelGroup', text, group, 'group');
    await this.#sidecar.call('cancel', { group });
  }

  async retry(id) {
    checkArgument('retry', text, id, 'id');
    const { row } = await this.#sidecar.call('retry', { id });
    return row;
  }

  async setWifiOnly(wifiOnly) {
    checkArgument('setWifiOnly', flag, wifiOnly, 'wifiOnly');
    await this.#sidecar.call('setWifiOnly', { wifiOnly });
  }

  async setNetwork(network) {
    checkArgument('setNetwork', networkShape, network);
    this.#network = { ...network };
    await this.#sidecar.call('setNetwork', this.#network);
  }

  async updateHeaders(headers, limits = {}) {
    checkArgument('updateHeaders', limitsShape, limits);
    await this.#sidecar.call('updateHeaders', { headers, ...limits });
  }

  async getRequests(filter = {}) {
    checkArgument('getRequests', filterShape, filter);
    const rows = [];
    for await (const row of this.#rows(filter)) rows.push(row);
    return rows;
  }

  async* #rows(filter) {
    let cursor;
    do {
      const page = await this.#sidecar.call('getRequests', { ...filter, ...(cursor && { cursor }) });
      yield* page.requests;
      cursor = page.nextCursor;
    } while (cursor !== undefined);
  }

  async takeDiagnostics() {
    const { records } = await this.#sidecar.call('takeDiagnostics', {});
    return records;
  }

  async explain(id) {
    checkArgument('explain', text, id, 'id');
    return this.#sidecar.call('explain', { id });
  }

  async explainGroup(group) {
    checkArgument('explainGroup', text, group, 'group');
    return this.#sidecar.call('explain', { group });
  }

  async stats() {
    return this.#sidecar.call('stats', {});
  }

  async ping() {
    return this.#sidecar.call('ping', {});
  }

  async advanceClock(ms) {
    checkArgument('advanceClock', integer(0), ms, 'ms');
    return this.#sidecar.call('advanceClock', { ms });
  }

  async server() {
    return this.#sidecar.ready();
  }

  async redeliver() {
    if (!this.#subscription.isWanted) {
      throw new ClientError('E_NOT_CONFIGURED', 'redeliver: call configure() first');
    }
    await this.#subscription.renew((method, params) => this.#sidecar.call(method, params));
  }

  addListener(event, listener) {
    const added = this.#listeners.add(event, listener);
    if (event === 'group') this.#include('group');
    return added;
  }

  events(...names) {
    const stream = this.#listeners.stream(names);
    if (this.#closing) stream.end();
    else if (names.length === 0 || names.includes('group')) this.#include('group');
    return stream;
  }

  chunkPlan(size, limits) {
    return chunkPlan(size, limits);
  }

  close() {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close() {
    this.#sidecar.hold(true);
    let callOff;
    const late = new Promise((resolve) => {
      callOff = this.#clock.later(HANDLERS_MS, resolve);
    });
    await Promise.race([this.#delivery.close(), late]);
    callOff();
    this.#subscription.reset();
    this.#listeners.end();
    await this.#sidecar.close();
  }

  async #configure(members) {
    await this.#sidecar.ready();
    const configured = Object.keys(members).length === 0 ? null : this.#sidecar.call('configure', members);
    await Promise.all([
      configured, this.#subscription.ensure((method, params) => this.#sidecar.call(method, params))]);
  }

  #greet(call) {
    this.#subscription.reset();
    if (this.#network) {
      call('setNetwork', this.#network).catch((error) => {
        this.#warn(`the network could not be told to the new sidecar: ${error.message}`, error);
      });
    }
    this.#subscription.ensure(call);
  }

  /** Asks for an event that not every client wants, which costs the sidecar work. */
  #include(event) {
    this.#subscription.include(event, (method, params) => this.#sidecar.call(method, params));
  }

  #keyOf(definition) {
    const key = this.#keys.get(definition);
    if (key === undefined) throw invalid('definition', 'must be what define of this client gave');
    return key;
  }

  #make(method, key, vars, options) {
    return enqueueParams(method, this.#definitions.get(key), vars, options, this.#settings, this.#clock);
  }

  async #mutate(key, vars, options = {}) {
    const entry = this.#make('mutate', key, vars, options);
    const { id } = entry;
    try {
      const [{ generation, disposition }] = await this.#enqueue([entry], `enqueue of ${id}`, async () => (
        [await this.#sidecar.call('enqueue', entry.params)]));
      return { id, generation, disposition };
    } catch (error) {
      throw error instanceof SidecarExited ? error.forEntry(id) : error;
    }
  }

  #enqueueAll(entries) {
    const params = objectText({ entries: listText(entries.map((entry) => entry.params)) });
    return this.#enqueue(entries, `enqueue of ${entries.length} steps`, async () => (
      (await this.#sidecar.call('enqueueAll', params)).entries));
  }

  /**
   * Sends entries and waits for their answers.
   * @param {{id: string, group?: string}[]} entries
   * @param {string} what it is, for a warning
   * @param {() => Promise<object[]>} send resolves with an answer for each
   */
  async #enqueue(entries, what, send) {
    const begun = this.#expected.begin(entries, (group) => this.#delivery.hasInHand(group));
    const answer = send();
    for (const entry of entries) this.#delivery.track(entry, answer);
    const limit = this.#settings.enqueueTimeoutMs;
    const watch = this.#clock.later(limit, () => {
      this.#warn(`${what} has no answer after ${limit} ms and goes on waiting`);
    });
    try {
      const accepted = await answer;
      begun.accepted(accepted);
      return accepted;
    } catch (error) {
      begun.failed();
      throw error;
    } finally {
      watch();
      this.#updateHold();
    }
  }

  #receive(event, params) {
    if (event === 'settled') {
      this.#expected.entrySettled(params?.id);
      this.#updateHold();
      this.#delivery.receive(params);
    } else if (event === 'groupSettled') {
      this.#expected.groupSettled(params?.group);
      this.#updateHold();
      this.#delivery.receiveGroup(params);
    } else {
      this.#listeners.emit(event, event === 'resync' ? undefined : params);
      if (event === 'resync' && this.#listeners.has('state')) this.#showRows();
    }
  }

  /** All rows, in place of the state events that were lost. */
  async #showRows() {
    try {
      for await (const row of this.#rows({})) this.#listeners.emit('state', row);
    } catch (error) {
      if (error.code === 'E_SIDECAR_EXITED' || error.code === 'E_CLOSED') return;
      this.#warn(`state events were lost and the rows cannot be read: ${error.message}`, error);
    }
  }

  /** Node stays alive while somebody waits for an event, or for an outcome that only this process hears. */
  #updateHold() {
    const { entries, groups } = this.#expected;
    const toCome = entries + (this.#delivery.groupHandler ? groups : 0);
    const waits = this.#subscription.isWanted && toCome > 0 && !this.#background;
    this.#sidecar.hold(this.#closing !== null || waits || this.#listeners.isAwaited);
  }

  #warn(message, detail) {
    try {
      if (this.#onWarning) this.#onWarning(message, detail);
      else say(message, detail);
    } catch (error) {
      say(message, detail);
      say('the warning listener failed', error);
    }
  }
}

function say(message, detail) {
  if (detail === undefined) console.warn(`outtray: ${message}`);
  else console.warn(`outtray: ${message}`, detail);
}

function checkScope(method, scope) {
  if (scope === undefined) return {};
  checkArgument(method, scopeShape, scope);
  // An explicit undefined is a mistake that must not pause the whole queue.
  for (const name of ['keys', 'groups']) {
    if (name in scope && scope[name] === undefined) checkArgument(method, list(text), undefined, name);
  }
  return scope;
}

// Node 18 before 18.18 has no such symbol.
if (Symbol.asyncDispose) {
  Object.defineProperty(UploadClient.prototype, Symbol.asyncDispose, {
    value() {
      return this.close();
    },
  });
}

module.exports = { UploadClient };
