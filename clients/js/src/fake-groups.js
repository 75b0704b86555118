'use strict';

const { randomUUID } = require('node:crypto');

const STATES = ['queued', 'running', 'awaiting-auth', 'paused', 'completed', 'error', 'cancelled'];
const ENDS = STATES.slice(4);

/** The groups of the fake: which members each has had, and how those stand. */
class FakeGroups {
  #groups = new Map();

  clear() {
    this.#groups.clear();
  }

  has(group) {
    return this.#groups.has(group);
  }

  /** Takes note of a member as it stands; gives how its group stands then, undefined without one. */
  note({ id, group, state, bytesSent, totalBytes }, weight) {
    if (group === undefined) return undefined;
    const found = this.#groups.get(group) ?? { members: new Map(), generation: 0, isLive: false };
    this.#groups.set(group, found);
    const before = found.members.get(id);
    const heavy = weight ?? before?.weight ?? Math.max(totalBytes, 1);
    found.members.set(id, { id, state, bytesSent, totalBytes, weight: heavy });
    if (!ENDS.includes(state)) found.isLive = true;
    return this.status(group);
  }

  status(group) {
    const members = [...this.#groups.get(group)?.members.values() ?? []];
    const sum = (measure) => members.reduce((all, member) => all + measure(member), 0);
    const whole = sum(({ weight }) => weight);
    const done = sum(({ state, weight, bytesSent, totalBytes }) => (
      weight * (state === 'completed' ? 1 : totalBytes > 0 ? Math.min(bytesSent / totalBytes, 1) : 0)));
    return {
      group,
      counts: Object.fromEntries(STATES.map((state) => [
        state, members.filter((member) => member.state === state).length])),
      bytesSent: sum((member) => member.bytesSent),
      totalBytes: sum((member) => member.totalBytes),
      progress: whole === 0 ? 0 : done / whole,
    };
  }

  /** The outcome of a group whose last live member has settled; undefined otherwise. */
  end(group) {
    const found = this.#groups.get(group);
    const hasLive = () => [...found.members.values()].some(({ state }) => !ENDS.includes(state));
    if (!found?.isLive || hasLive()) return undefined;
    found.isLive = false;
    found.generation += 1;
    const counts = this.status(group).counts;
    found.outcome = {
      eventId: randomUUID(), group, at: Date.now(), generation: found.generation, deliveries: 0,
      counts: Object.fromEntries(ENDS.map((state) => [state, counts[state]])),
      failed: [...found.members.values()].filter(({ state }) => state === 'error').map(({ id }) => id)
        .slice(0, 100),
    };
    return found.outcome;
  }

  /** Whether the members of a group keep their rows: it is live, or its end was not acknowledged. */
  keeps(group) {
    const found = this.#groups.get(group);
    return found !== undefined && (found.isLive || found.outcome !== undefined);
  }

  acknowledged({ group, eventId }, rows) {
    const found = this.#groups.get(group);
    if (found?.outcome?.eventId === eventId) found.outcome = undefined;
    this.#drop(group, rows);
  }

  /** Every member had settled, and nobody wants to hear of it. */
  cancelled(group) {
    this.#groups.delete(group);
  }

  /** A row has gone; with the last one its group goes. */
  forget({ id, group }, rows) {
    const members = this.#groups.get(group)?.members;
    const member = members?.get(id);
    // It goes on to count; an entry that is enqueued under its id later is another member.
    if (members?.delete(id)) members.set(Symbol(id), member);
    this.#drop(group, rows);
  }

  #drop(group, rows) {
    const hasRows = [...rows.values()].some((row) => row.group === group);
    if (!this.keeps(group) && !hasRows) this.#groups.delete(group);
  }
}

module.exports = { FakeGroups };
