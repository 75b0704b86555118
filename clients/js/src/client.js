'use strict';

const { Delivery } = require('./delivery.js');
const { chunkPlan } = require('./chunkplan.js');
const { ClientError, SidecarExited } = require('./errors.js');
const { Listeners } = require('./listeners.js');
const { enqueueParams } = require('./mutation.js');
const { Settings } = require('./settings.js');
const { checkArgument, flag, integer, invalid, list, object, oneOf, text } = require('./shapes.js');
const { Subscription } = require('./subscription.js');

/** How long `close` waits for handlers that run. */
const HANDLERS_MS = 5000;

const scopeShape = object({ keys: list(text) });
const filterShape = object({ key: text, id: text, state: text });
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
  #settings = new Settings();
  #listeners;
  #delivery;
  #subscription;
  #network = null;
  /** Ids whose outcome is still to come for what this client enqueued. */
  #open = new Set();
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
    return Object.freeze({ key, mutate: (vars, options) => this.#mutate(key, vars, options) });
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
    return this.#listeners.add(event, listener);
  }

  events(...names) {
    const stream = this.#listeners.stream(names);
    if (this.#closing) stream.end();
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

  async #mutate(key, vars, options = {}) {
    const definition = this.#definitions.get(key);
    const { id, params } = enqueueParams(definition, vars, options, this.#settings, this.#clock);
    const wasOpen = this.#open.has(id);
    this.#open.add(id);
    const answer = this.#sidecar.call('enqueue', params);
    this.#delivery.track(id, answer);
    const limit = this.#settings.enqueueTimeoutMs;
    const watch = this.#clock.later(limit, () => {
      this.#warn(`enqueue of ${id} has no answer after ${limit} ms and goes on waiting`);
    });
    try {
      const { generation, disposition } = await answer;
      return { id, generation, disposition };
    } catch (error) {
      if (!wasOpen) this.#open.delete(id);
      throw error instanceof SidecarExited ? error.forEntry(id) : error;
    } finally {
      watch();
      this.#updateHold();
    }
  }

  #receive(event, params) {
    if (event === 'settled') {
      this.#open.delete(params?.id);
      this.#updateHold();
      this.#delivery.receive(params);
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
    const waits = this.#subscription.isWanted && this.#open.size > 0 && !this.#background;
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
  if ('keys' in scope && scope.keys === undefined) {
    checkArgument(method, list(text), undefined, 'keys');
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
