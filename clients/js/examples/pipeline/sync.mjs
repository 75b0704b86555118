import { setTimeout as sleep } from 'node:timers/promises';
import { createUploadClient } from 'outtray';
import { step } from './steps.mjs';
import { Toolbar } from './toolbar.mjs';

const GONE = 410;
const SETTLED = ['completed', 'error', 'cancelled'];
const DEADLINE_MS = 300_000;
const KINDS = [['photo', 'photos'], ['sound', 'sounds']];

export const groupOf = (uuid) => `observation/${uuid}`;
const uuidOf = (group) => group.slice('observation/'.length);

/** Brings the observations of a folder to a server, each with its photos and sounds. */
export class Sync {
  #records;
  #uploads;
  #toolbar = new Toolbar();
  #definitions = {};
  /** The observations of this run that are not through. */
  #left = new Set();
  /** Why this run cannot go on. */
  #failure = null;

  constructor({ queue, records, server, token }) {
    this.#records = records;
    this.#uploads = createUploadClient({
      dir: queue,
      // When this program is gone the sidecar finishes what it has.
      background: true,
      onWarning: (message, detail) => this.#warned(message, detail),
    });
    this.#define(server, token);
    this.#uploads.onGroupSettled((outcome) => this.#orFail(() => this.#groupSettled(outcome)));
    this.#listen();
  }

  /** Enqueues all that needs sync, then hears of it and of earlier runs until nothing is left. */
  async run({ token, once = false }) {
    step('started');
    if (token) await this.#persist(() => this.#uploads.updateHeaders(authorization(token)));
    const pipelines = this.#records.unsynced().map((record) => [record.uuid, this.#pipelineOf(record)]);
    for (const [uuid, pipeline] of pipelines) {
      this.#left.add(uuid);
      await this.#persist(() => pipeline.enqueue());
      step('enqueued', uuid);
    }
    if (once) return;
    // Not before: what completed under an earlier run is not sent again as long as its outcome is here, and a
    // record that was read as unsynced above must not be marked and forgotten before it is enqueued.
    await this.#persist(() => this.#uploads.configure());
    // What has been refused by then has no listener that was told.
    const parked = await this.#persist(() => this.#uploads.getRequests({ state: 'awaiting-auth' }));
    parked.forEach((row) => this.#stateChanged(row));
    await this.#end();
  }

  async #end() {
    while (this.#left.size > 0) await this.#moment();
    // Also what an earlier run was told and did not live to acknowledge.
    while (await this.#hasOutcomes()) await this.#moment();
    await this.#uploads.close();
  }

  async #moment() {
    await sleep(50);
    if (this.#failure) throw this.#failure;
  }

  async #hasOutcomes() {
    const { outcomes } = await this.#persist(() => this.#uploads.stats());
    return outcomes.unacknowledged > 0;
  }

  /** The kinds of requests. Their keys are kept with every entry, and their handlers serve later runs too. */
  #define(server, token) {
    const headers = token ? authorization(token) : {};
    const onSuccess = (id, { uuid }, meta) => this.#orFail(() => {
      step('outcome', meta.id);
      // The outcome of the group has no answers in it, and this one is acknowledged before: keep its id.
      this.#records.change(uuid, ({ created }) => ({ created: { ...created, [meta.id]: id } }));
    });
    const onError = (error, { uuid }, { id }) => this.#orFail(() => {
      step('outcome', id);
      return this.#failedFor(uuid, id, error);
    });
    const response = (answer) => answer.id;
    const define = (key, request) => {
      this.#definitions[key] = this.#uploads.define({ key, request, response, onSuccess, onError });
    };

    for (const [kind, many] of KINDS) {
      define(`${kind}.create`, ({ name, file }) => ({
        url: `${server}/${many}`,
        headers,
        form: [
          { name: 'uuid', contentType: 'text/plain', string: name },
          { name: 'file', contentType: 'application/octet-stream', path: this.#records.file(file) },
        ],
      }));
      define(`${kind}.attach`, ({ name }, bound) => ({
        url: `${server}/observations/${bound.observation}/${many}`,
        headers,
        data: { [`${kind}_id`]: bound.medium, uuid: name },
      }));
    }
    define('observation.create', ({ uuid, note }) => ({
      url: `${server}/observations`, headers, data: { uuid, note },
    }));
    define('observation.update', ({ uuid, note, serverId }) => ({
      url: `${server}/observations/${serverId}?ignore_photos=true`,
      method: 'PUT',
      headers,
      data: { uuid, note },
    }));
  }

  /** Media side by side, then the observation, then each medium attached to it. */
  #pipelineOf({ uuid, note, server_id: serverId, ...record }) {
    const group = groupOf(uuid);
    const pipeline = this.#uploads.pipeline({ group, groupDeadlineMs: DEADLINE_MS });
    const media = mediaOf({ uuid, ...record }).map(({ kind, name, file }) => {
      const create = this.#definitions[`${kind}.create`];
      return { kind, name, step: pipeline.add(create, { uuid, name, file }, { id: name, weight: 0.5 }) };
    });
    const { 'observation.create': create, 'observation.update': update } = this.#definitions;
    const observation = pipeline.add(serverId === null ? create : update, { uuid, note, serverId }, {
      id: `${uuid}/observation`, weight: 1,
      after: media.map((medium) => medium.step),
      // One observation at a time, the oldest first; media of all of them go up meanwhile.
      lane: 'observations',
    });
    for (const { kind, name, step: created } of media) {
      pipeline.add(this.#definitions[`${kind}.attach`], { uuid, name }, {
        id: `${name}/attach`, weight: 0.5,
        bind: { observation: observation.pointer('/id'), medium: created.pointer('/id') },
      });
    }
    this.#toolbar.add(group, media.length + 1);
    return pipeline;
  }

  async #failedFor(uuid, id, { message, response }) {
    if (response?.status === GONE) {
      this.#toolbar.say(JSON.parse(response.body).error);
      this.#records.delete(uuid);
      await this.#persist(() => this.#uploads.cancelGroup(groupOf(uuid)));
      // Where this was the last of the group, the group is forgotten, and no outcome of it comes.
      this.#left.delete(uuid);
      return;
    }
    // The rest waits: mended and synced anew this entry goes again, or `abort` cancels the group.
    const text = `${id}: ${message}`;
    this.#toolbar.say(text);
    this.#records.change(uuid, ({ errors }) => ({ errors: [...new Set([...errors, text])] }));
  }

  /** Marks the record, or forgets a group without a good end, so that the next sync begins anew. */
  async #groupSettled({ group, counts }) {
    const uuid = uuidOf(group);
    step('group', uuid);
    // It was enqueued anew since, and will settle once more.
    if (await this.#isLive(group)) return;
    const record = this.#records.read(uuid);
    const complete = record !== undefined && isComplete(record);
    if (record && !complete && counts.error === 0 && counts.cancelled === 0) {
      // A handler that notes an id has failed. This outcome is released too, and both come again.
      throw new Error(`the ids of ${uuid} on the server are not all in its record`);
    }
    this.#records.change(uuid, marked);
    if (complete) step('marked', uuid);
    else await this.#persist(() => this.#uploads.cancelGroup(group));
    this.#toolbar.move(group, 1);
    this.#left.delete(uuid);
  }

  async #isLive(group) {
    const rows = await this.#persist(() => this.#uploads.getRequests({ group }));
    return rows.some(({ state }) => !SETTLED.includes(state));
  }

  #listen() {
    this.#uploads.addListener('group', ({ group, progress }) => this.#toolbar.move(group, progress));
    this.#uploads.addListener('state', (row) => this.#stateChanged(row));
    this.#uploads.addListener('attempt', ({ errorKind }) => {
      if (errorKind === 'network') this.#toolbar.say('waiting for the network');
    });
  }

  #stateChanged({ state }) {
    if (state !== 'awaiting-auth') return;
    this.#toolbar.say('sign in again: observations token --queue DIR NEWTOKEN');
  }

  /** Repeats a call whose sidecar died before it answered. Every call here may be repeated. */
  async #persist(call) {
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (error.code !== 'E_SIDECAR_EXITED') throw error;
      }
    }
  }

  #warned(message, detail) {
    console.error(message);
    // It died while nothing was asked: a call starts the next one, which goes on.
    if (detail?.code === 'E_SIDECAR_EXITED') this.#restart();
  }

  async #restart() {
    try {
      await this.#persist(() => this.#uploads.ping());
    } catch (error) {
      this.#failure = error;
    }
  }

  /** A handler that fails ends the run; its outcome is kept, and the next run hears it again. */
  async #orFail(handle) {
    try {
      await handle();
    } catch (error) {
      this.#failure = error;
      throw error;
    }
  }
}

/** What is still to be uploaded; what was synced before is written with its id on the server. */
function mediaOf({ uuid, ...record }) {
  const named = KINDS.flatMap(([kind, many]) => (record[many] ?? []).map((file, number) => (
    { kind, many, number, file, name: `${uuid}/${kind}/${number}` })));
  return named.filter(({ file }) => typeof file === 'string');
}

/** Whether all that an observation needs is noted, or was and the record is marked. */
function isComplete({ created = {}, needs_sync: needsSync, ...record }) {
  const needed = [`${record.uuid}/observation`,
    ...mediaOf(record).flatMap(({ name }) => [name, `${name}/attach`])];
  return !needsSync || needed.every((name) => name in created);
}

/** What changes in a record when its group has ended. What the server has is not created again next time. */
function marked(record) {
  const { uuid, created = {}, server_id: before, photos = [], sounds = [] } = record;
  const changed = { photos: [...photos], sounds: [...sounds] };
  for (const { many, number, file, name } of mediaOf(record)) {
    if (`${name}/attach` in created) changed[many][number] = { file, server_id: created[name] };
  }
  Object.assign(changed, { server_id: created[`${uuid}/observation`] ?? before, created: undefined });
  return isComplete(record) ? { ...changed, needs_sync: false, errors: [] } : changed;
}

const authorization = (token) => ({ Authorization: `Bearer ${token}` });
