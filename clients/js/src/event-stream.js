/** An async iterator that is fed by `push` and ended by `end`; what nobody took yet waits in it. */
export class EventStream {
  #queue = [];
  #takers = [];
  #ended = false;
  #onReturn;

  /** @param {(stream: EventStream) => void} onReturn called once the reader has left */
  constructor(onReturn) {
    this.#onReturn = onReturn;
  }

  /** @param {any} event */
  push(event) {
    if (this.#ended) return;
    const take = this.#takers.shift();
    if (take) take({ value: event, done: false });
    else this.#queue.push(event);
  }

  /** Nothing comes after this; what waits can still be taken. */
  end() {
    this.#ended = true;
    for (const take of this.#takers.splice(0)) take({ value: undefined, done: true });
  }

  next() {
    if (this.#queue.length > 0) return Promise.resolve({ value: this.#queue.shift(), done: false });
    if (this.#ended) return Promise.resolve({ value: undefined, done: true });
    return new Promise((resolve) => this.#takers.push(resolve));
  }

  return() {
    this.#queue = [];
    this.end();
    this.#onReturn(this);
    return Promise.resolve({ value: undefined, done: true });
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}
