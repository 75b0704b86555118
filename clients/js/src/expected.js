'use strict';

/** The outcomes that are still to come for what this client enqueued: of entries, and of groups. */
class Expected {
  #ids = new Set();
  #groups = new Set();

  /** How many there are of entries. */
  get entries() {
    return this.#ids.size;
  }

  /** How many there are of groups. */
  get groups() {
    return this.#groups.size;
  }

  /**
   * Some entries go out.
   * @param {{id: string, group?: string}[]} entries
   * @param {(group: string) => boolean} hasCome whether the outcome of a group is here already
   * @returns {{accepted(answers: {disposition: string}[]): void, failed(): void}} what to say of their end
   */
  begin(entries, hasCome) {
    const groups = [...new Set(entries.map(({ group }) => group))].filter((group) => group !== undefined);
    const here = groups.filter(hasCome);
    const ids = entries.map(({ id }) => id);
    const undo = [addAll(this.#ids, ids), addAll(this.#groups, groups)];
    return {
      accepted: (answers) => {
        ids.forEach((id, index) => answers[index].disposition === 'kept' && this.#ids.delete(id));
        // What is here comes again only when something of it lives.
        const live = new Set(groups.filter((group) => entries.some(
          (entry, index) => entry.group === group && isLive(answers[index]))));
        for (const group of here) if (!live.has(group)) this.#groups.delete(group);
      },
      failed: () => undo.forEach((step) => step()),
    };
  }

  entrySettled(id) {
    this.#ids.delete(id);
  }

  groupSettled(group) {
    this.#groups.delete(group);
  }
}

const isLive = ({ disposition }) => disposition !== 'kept' && disposition !== 'redelivered';

/** Adds items, and gives what takes those out again that were new. */
function addAll(set, items) {
  const added = items.filter((each) => !set.has(each));
  for (const each of added) set.add(each);
  return () => added.forEach((each) => set.delete(each));
}

module.exports = { Expected };
