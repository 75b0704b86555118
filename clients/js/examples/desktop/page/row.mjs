// One row of a list: made once, changed in place.
import { bytes, kindName, part, status, visibleName } from './words.mjs';

const SVG = 'http://www.w3.org/2000/svg';

export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('aria-hidden', 'true');
  const use = document.createElementNS(SVG, 'use');
  use.setAttribute('href', `#i-${name}`);
  svg.append(use);
  return svg;
}

export function setIcon(button, name) {
  const use = button.querySelector('use');
  if (use.getAttribute('href') !== `#i-${name}`) use.setAttribute('href', `#i-${name}`);
}

function make(tag, className, ...children) {
  const element = document.createElement(tag);
  element.className = className;
  element.append(...children);
  return element;
}

/** Writes only what is different, so that nothing is laid out, or read aloud, for no reason. */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function setAttribute(element, name, value) {
  if (element.getAttribute(name) !== value) element.setAttribute(name, value);
}

function setHidden(element, is) {
  if (element.hidden !== is) element.hidden = is;
}

let made = 0;

export class RowView {
  #name;
  #figures;
  #status;
  #progress;
  #tile;
  #buttons = {};

  constructor() {
    made += 1;
    this.#name = make('bdi', 'name');
    this.#name.id = `name-${made}`;
    this.#figures = make('span', 'figures');
    this.#status = make('p', 'status');
    this.#status.id = `status-${made}`;
    this.#progress = make('progress', '');
    this.#progress.setAttribute('aria-labelledby', this.#name.id);
    this.#tile = make('span', 'tile', icon('other'));
    for (const act of ['kind', 'again', 'cancel']) this.#buttons[act] = this.#makeButton(act);
    this.element = make('li', 'row', this.#tile,
      make('div', 'body', make('div', 'line', this.#name, this.#figures), this.#progress, this.#status),
      make('div', 'actions', ...Object.values(this.#buttons)));
    this.element.setAttribute('aria-labelledby', `${this.#name.id} ${this.#status.id}`);
    this.setCurrent(false);
  }

  #makeButton(act) {
    const button = make('button', 'quiet icon', icon('close'));
    button.type = 'button';
    button.dataset.act = act;
    return button;
  }

  /** Of all rows of a list one is reached by Tab, and with it its buttons. */
  setCurrent(is) {
    this.element.tabIndex = is ? 0 : -1;
    for (const button of Object.values(this.#buttons)) button.tabIndex = is ? 0 : -1;
  }

  /**
   * @param {object} row
   * @param {{gates: object[], speed: number, now: number, kindPaused: boolean}} about
   */
  update(row, about) {
    const name = visibleName(row.name);
    const { tone, text } = status(row, about);
    setText(this.#name, name);
    setAttribute(this.#name, 'title', name);
    setText(this.#figures, ['completed', 'error'].includes(row.state) || row.sent === 0
      ? bytes(row.total) : part(row.sent, row.total));
    setText(this.#status, text);
    setAttribute(this.element, 'data-state', row.state);
    setAttribute(this.element, 'data-tone', tone);
    setIcon(this.#tile, row.kind);
    this.#updateProgress(row);
    this.#updateButtons(row, name, about);
  }

  #updateProgress({ state, sent, total }) {
    const shows = state === 'running' || (sent > 0 && !['completed', 'error'].includes(state));
    setHidden(this.#progress, !shows);
    // A file of no bytes is all there.
    setAttribute(this.#progress, 'max', String(total || 1));
    setAttribute(this.#progress, 'value', String(total ? sent : 1));
  }

  #updateButtons({ state, kind, nextAttemptAt }, name, { kindPaused }) {
    const isLive = !['completed', 'error'].includes(state);
    const kinds = kindName(kind).toLowerCase();
    this.#setButton('kind', isLive && (kindPaused ? 'play' : 'pause'),
      `${kindPaused ? 'Resume' : 'Pause'} all ${kinds}`);
    const again = {
      error: ['retry', `Try again: ${name}`], 'awaiting-auth': ['key', `Sign in, for ${name}`],
      ...(nextAttemptAt !== undefined && { queued: ['retry', `Try now: ${name}`] }),
    }[state] || [false, ''];
    this.#setButton('again', ...again);
    this.#setButton('cancel', 'close', `${isLive ? 'Cancel' : 'Remove from the list'}: ${name}`);
  }

  #setButton(act, iconName, label) {
    const button = this.#buttons[act];
    // The focus stays in the row when its button goes.
    if (!iconName && document.activeElement === button) this.element.focus();
    setHidden(button, !iconName);
    if (!iconName) return;
    setIcon(button, iconName);
    setAttribute(button, 'aria-label', label);
    setAttribute(button, 'title', label);
  }
}
