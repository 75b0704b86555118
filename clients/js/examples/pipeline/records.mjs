import { readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** The app's own records: a folder with a JSON file for each observation. */
export class Records {
  #folder;

  constructor(folder) {
    this.#folder = path.resolve(folder);
  }

  /** The observation, or undefined when it was deleted. */
  read(uuid) {
    const place = this.#place(uuid);
    try {
      return JSON.parse(readFileSync(place, 'utf8'));
    } catch (error) {
      if (error.code === 'ENOENT') return undefined;
      throw error instanceof SyntaxError ? new Error(`${place}: ${error.message}`) : error;
    }
  }

  /** Those that need sync, oldest first. */
  unsynced() {
    const names = readdirSync(this.#folder).filter((name) => /^[^.].*\.json$/.test(name));
    return names.map((name) => this.read(path.basename(name, '.json')))
      .filter((record) => record.needs_sync)
      .sort((one, other) => one.created_at - other.created_at);
  }

  /** Changes members, those that become undefined go. What was deleted stays so. */
  change(uuid, changed) {
    const record = this.read(uuid);
    if (!record) return;
    // Nothing is awaited from the reading to the writing: two outcomes may come at the same time. The new
    // file takes the place of the old one as a whole, so that a crash leaves the one or the other.
    const half = path.join(this.#folder, `.${uuid}.new`);
    writeFileSync(half, JSON.stringify({ ...record, ...changed(record) }, null, 1));
    renameSync(half, this.#place(uuid));
  }

  delete(uuid) {
    rmSync(this.#place(uuid), { force: true });
  }

  /** Where a file of an observation is. */
  file(name) {
    return path.resolve(this.#folder, name);
  }

  #place(uuid) {
    return path.join(this.#folder, `${uuid}.json`);
  }
}
