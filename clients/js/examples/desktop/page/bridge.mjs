// The way to the host, one shape for both: Electron's main process, or the Node program behind this address.
import { EventReader } from './stream.mjs';

const AGAIN_MS = 1000;

/**
 * @typedef {object} Ears
 * @property {(snapshot: object) => void} onSnapshot everything, at first and after each reconnection
 * @property {(change: object) => void} onChange
 * @property {(how: 'open' | 'lost' | 'refused') => void} onLink
 */

export function openBridge() {
  return window.electronBridge ? new ElectronBridge(window.electronBridge) : new BrowserBridge();
}

class ElectronBridge {
  #inner;

  constructor(inner) {
    this.#inner = inner;
  }

  /** @param {Ears} ears */
  async connect({ onSnapshot, onChange, onLink }) {
    const early = [];
    let take = (change) => early.push(change);
    const snapshot = await this.#inner.open((change) => take(change));
    take = onChange;
    onLink('open');
    onSnapshot(snapshot);
    early.forEach(onChange);
  }

  call(command, args = {}) {
    return this.#inner.call(command, args);
  }

  add(file) {
    // Older Electron gives files a path of their own.
    return this.#inner.add(file.path || this.#inner.pathOf(file));
  }

  showProgress(fraction) {
    this.#inner.showProgress(fraction);
  }
}

class BrowserBridge {
  #secret = takeSecret();

  /** @param {Ears} ears */
  async connect(ears) {
    for (;;) {
      const refused = await this.#listen(ears).catch(() => false);
      ears.onLink(refused ? 'refused' : 'lost');
      if (refused) return;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }

  /** Resolves when the stream has ended: true when it was refused. */
  async #listen({ onSnapshot, onChange, onLink }) {
    const response = await this.#fetch('changes');
    if (response.status === 403) return true;
    const reader = new EventReader((name, value) => (name === 'snapshot' ? onSnapshot : onChange)(value));
    const decoder = new TextDecoder();
    const bytes = response.body.getReader();
    onLink('open');
    for (;;) {
      const { done, value } = await bytes.read();
      if (done) return false;
      reader.push(decoder.decode(value, { stream: true }));
    }
  }

  call(command, args = {}) {
    const headers = { 'Content-Type': 'application/json' };
    return this.#post(command, { headers, body: JSON.stringify(args) });
  }

  add(file) {
    return this.#post(`files?name=${encodeURIComponent(file.name)}`, { body: file });
  }

  /** A browser has no place for it but the title, which the page sets itself. */
  showProgress() {}

  async #post(call, options) {
    const response = await this.#fetch(call, { method: 'POST', ...options }).catch(() => {
      throw new Error('The program behind this page does not answer.');
    });
    const refused = response.status === 403;
    const { value, error } = refused ? { error: await response.text() } : await response.json();
    if (error !== undefined) throw new Error(error);
    return value;
  }

  #fetch(call, { headers, ...options } = {}) {
    const all = { ...headers, Authorization: `Bearer ${this.#secret}` };
    return fetch(`api/${call}`, { ...options, headers: all, cache: 'no-store', credentials: 'omit' });
  }
}

/** The secret stands behind the # of the link; it leaves the address at once and lasts as long as the tab. */
function takeSecret() {
  const given = window.location.hash.slice(1);
  // A link within the page leaves something there too.
  if (/^[0-9a-f]{48}$/.test(given)) {
    window.sessionStorage.setItem('secret', given);
    window.history.replaceState(null, '', window.location.pathname);
  }
  return window.sessionStorage.getItem('secret') || '';
}
