const CELLS = 30;

/** Shows on stderr how far all observations are together, from 0 to 1; and says what the user has to know. */
export class Toolbar {
  #weights = new Map();
  #progress = new Map();
  #shown = -1;
  #said = '';

  /** A group joins, as heavy as its steps. */
  add(group, weight) {
    this.#weights.set(group, weight);
    this.#show();
  }

  move(group, progress) {
    if (!this.#weights.has(group)) return;
    this.#progress.set(group, progress);
    this.#show();
  }

  /** Says something once, until something else is said. */
  say(text) {
    if (text === this.#said) return;
    this.#said = text;
    console.error(process.stderr.isTTY ? `\r\x1b[K${text}` : text);
  }

  #show() {
    let whole = 0;
    let done = 0;
    for (const [group, weight] of this.#weights) {
      whole += weight;
      done += weight * (this.#progress.get(group) ?? 0);
    }
    const shown = Math.floor(100 * done / whole) / 100;
    if (shown === this.#shown) return;
    this.#shown = shown;
    if (!process.stderr.isTTY) return console.error(`progress ${shown.toFixed(2)}`);
    const bar = '#'.repeat(Math.round(CELLS * shown)).padEnd(CELLS);
    process.stderr.write(`\r\x1b[K[${bar}] ${Math.round(100 * shown)} %${shown === 1 ? '\n' : ''}`);
  }
}
