// Keys of the lists. Single letters act only while the focus is in a list, so they get in nobody's way.

const SHORTCUTS = [
  ['Up, Down, Home, End', 'Another row'],
  ['Delete', 'Cancel, or remove from the list', ['Delete', 'Backspace'], 'cancel'],
  ['R', 'Try again, or now', ['r'], 'again'],
  ['K', 'Pause or resume this kind of file', ['k'], 'kind'],
  ['P', 'Pause or resume everything', ['p'], 'pause'],
  ['A', 'Add files', ['a'], 'add'],
  ['S', 'Sign in', ['s'], 'signIn'],
  ['?', 'This list', ['?'], 'help'],
];

/**
 * @param {HTMLElement} list
 * @param {(act: string, id: string) => void} onAct
 */
export function listenForKeys(list, onAct) {
  list.addEventListener('keydown', (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.isComposing) return;
    const pressed = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const found = SHORTCUTS.find(([, , keys = []]) => keys.includes(pressed));
    const row = event.target.closest('.row');
    if (!found || !row) return;
    event.preventDefault();
    onAct(found[3], row.dataset.id);
  });
}

/** Fills the list that the user sees. */
export function describeShortcuts(list) {
  for (const [keys, what] of SHORTCUTS) {
    const [term, description] = ['dt', 'dd'].map((tag) => document.createElement(tag));
    for (const [at, name] of keys.split(', ').entries()) {
      const key = document.createElement('kbd');
      key.textContent = name;
      term.append(...(at === 0 ? [key] : [' ', key]));
    }
    description.textContent = what;
    list.append(term, description);
  }
}
