const WIDTH = 40;

/** Shows how far an upload is: one moving line on a terminal, a line for each tenth elsewhere. */
export class ProgressBar {
  #out;
  #tenth = -1;
  #open = false;

  /** @param {NodeJS.WriteStream} out */
  constructor(out) {
    this.#out = out;
  }

  /**
   * @param {number} sent bytes
   * @param {number} total bytes, not 0
   */
  show(sent, total) {
    const share = sent / total;
    const text = `${(sent / 2 ** 20).toFixed(0).padStart(4)} of ${(total / 2 ** 20).toFixed(0)} MiB`;
    if (this.#out.isTTY) {
      const bar = '#'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '.');
      this.#out.write(`\r  [${bar}] ${text}`);
      this.#open = true;
    } else if (Math.floor(share * 10) !== this.#tenth) {
      this.#tenth = Math.floor(share * 10);
      this.#out.write(`  ${String(Math.floor(share * 100)).padStart(3)} %  ${text}\n`);
    }
  }

  /** Ends the moving line, so that other text can follow. */
  end() {
    if (this.#open) this.#out.write('\n');
    this.#open = false;
  }
}
