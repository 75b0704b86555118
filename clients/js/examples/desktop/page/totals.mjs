// Numbers about many rows. Nothing here touches the page.

const SETTLED = ['completed', 'error'];
/** Speed is that of so many milliseconds. */
const WINDOW_MS = 4000;

export function isLive(row) {
  return !SETTLED.includes(row.state);
}

/**
 * How far the present batch is: everything that was added since the queue was last empty. Finished ones count
 * until the next batch begins.
 */
export class Batch {
  #since = Infinity;
  #hadLive = false;

  /** @returns {{live: number, done: number, failed: number, sent: number, total: number}} */
  count(rows) {
    const live = rows.filter(isLive);
    if (live.length > 0 && !this.#hadLive) this.#since = Math.min(...live.map(({ addedAt }) => addedAt));
    this.#hadLive = live.length > 0;
    const done = rows.filter(({ state, addedAt }) => state === 'completed' && addedAt >= this.#since);
    const all = [...live, ...done];
    const sum = (field) => all.reduce((total, row) => total + row[field], 0);
    const failed = rows.filter(({ state }) => state === 'error').length;
    return { live: live.length, done: done.length, failed, sent: sum('sent'), total: sum('total') };
  }
}

/** How fast one row moves, from what was sent and when. */
export class Pace {
  #seen = [];

  /** A fall in `sent` is a new attempt: what was seen before tells nothing about it. */
  note(sent, now) {
    const last = this.#seen[this.#seen.length - 1];
    if (last && sent < last.sent) this.#seen = [];
    this.#seen.push({ sent, now });
    // One that is older than the window stays, so that there is always a distance to measure.
    while (this.#seen.length > 2 && this.#seen[1].now < now - WINDOW_MS) this.#seen.shift();
  }

  /** Bytes a second; 0 when it is not known, or nothing has moved for the window. */
  speed(now) {
    const [first] = this.#seen;
    const last = this.#seen[this.#seen.length - 1];
    if (!first || last.now - first.now < 300 || now - last.now > WINDOW_MS) return 0;
    return (last.sent - first.sent) / (last.now - first.now) * 1000;
  }
}
