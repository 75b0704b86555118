// A list of rows by id. A row that stays keeps its element; nothing is built twice.
import { RowView } from './row.mjs';

export class List {
  #element;
  #views = new Map();
  #current = null;
  #seen;
  #onVisible;
  #visible = new Set();

  /**
   * @param {HTMLElement} element
   * @param {object} ports
   * @param {(act: 'kind' | 'again' | 'cancel', id: string) => void} ports.onAct a button, or its key
   * @param {() => void} ports.onVisible other rows came into sight
   */
  constructor(element, { onAct, onVisible }) {
    this.#element = element;
    this.#onVisible = onVisible;
    this.#seen = new IntersectionObserver((entries) => this.#noteSight(entries), { rootMargin: '100px' });
    element.addEventListener('click', ({ target }) => {
      const button = target.closest('button[data-act]');
      if (button) onAct(button.dataset.act, idOf(button));
    });
    element.addEventListener('focusin', ({ target }) => this.#setCurrent(idOf(target)));
    element.addEventListener('keydown', (event) => this.#move(event));
  }

  get size() {
    return this.#views.size;
  }

  get visible() {
    return [...this.#visible];
  }

  get current() {
    return this.#current;
  }

  has(id) {
    return this.#views.has(id);
  }

  /** Adds or changes a row. New ones come at the end, or first with `newestFirst`. */
  set(row, about, { newestFirst = false } = {}) {
    let view = this.#views.get(row.id);
    if (!view) {
      view = new RowView();
      view.element.dataset.id = row.id;
      this.#views.set(row.id, view);
      view.update(row, about);
      if (newestFirst) this.#element.prepend(view.element);
      else this.#element.append(view.element);
      this.#seen.observe(view.element);
      if (this.#current === null) this.#setCurrent(row.id);
      return;
    }
    view.update(row, about);
  }

  /** Takes a row away. The focus, if it was in it, goes to the next one, else to the one before. */
  remove(id) {
    const view = this.#views.get(id);
    if (!view) return;
    const { element } = view;
    const neighbour = element.nextElementSibling || element.previousElementSibling;
    const hadFocus = element.contains(document.activeElement);
    this.#views.delete(id);
    this.#visible.delete(id);
    this.#seen.unobserve(element);
    if (this.#current === id) {
      this.#current = null;
      if (neighbour) this.#setCurrent(neighbour.dataset.id);
    }
    element.remove();
    if (hadFocus) (neighbour || document.getElementById('add')).focus();
  }

  #setCurrent(id) {
    if (!id || id === this.#current || !this.#views.has(id)) return;
    const before = this.#views.get(this.#current);
    if (before) before.setCurrent(false);
    this.#views.get(id).setCurrent(true);
    this.#current = id;
  }

  #noteSight(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && this.#views.has(target.dataset.id)) this.#visible.add(target.dataset.id);
      else this.#visible.delete(target.dataset.id);
    }
    this.#onVisible();
  }

  #move(event) {
    const row = event.target.closest('.row');
    if (!row || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = {
      ArrowDown: () => row.nextElementSibling, ArrowUp: () => row.previousElementSibling,
      Home: () => this.#element.firstElementChild, End: () => this.#element.lastElementChild,
    }[event.key];
    if (!next) return;
    event.preventDefault();
    const target = next();
    if (target) target.focus();
  }
}

function idOf(element) {
  const row = element.closest('.row');
  return row ? row.dataset.id : undefined;
}
