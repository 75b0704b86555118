// Server-sent events, read from a fetch: EventSource cannot send the secret in a header.

/** Takes text as it arrives and hands over each event that is whole. */
export class EventReader {
  #rest = '';
  #onEvent;

  /** @param {(name: string, value: unknown) => void} onEvent */
  constructor(onEvent) {
    this.#onEvent = onEvent;
  }

  push(text) {
    const blocks = (this.#rest + text).split('\n\n');
    this.#rest = blocks.pop();
    for (const block of blocks) this.#read(block);
  }

  #read(block) {
    let name = 'message';
    const lines = [];
    for (const line of block.split('\n')) {
      if (line.startsWith('event: ')) name = line.slice(7);
      if (line.startsWith('data: ')) lines.push(line.slice(6));
    }
    if (lines.length > 0) this.#onEvent(name, JSON.parse(lines.join('\n')));
  }
}
