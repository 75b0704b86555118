// Everything above the lists: what is going on in all, notices, and the pauses by kind.
import { icon, setIcon } from './row.mjs';
import { isLive } from './totals.mjs';
import { count, duration, kindName, part } from './words.mjs';

const find = (id) => document.getElementById(id);
const LINKS = {
  lost: 'The program behind this page does not answer. Uploads may go on without it. '
    + 'Once it is started again, open the link that it prints.',
  refused: 'This page belongs to an earlier start. Open the link that the program has printed.',
};

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The focus is not lost with what goes out of sight. */
function setHidden(element, is) {
  const hadFocus = is && element.contains(document.activeElement);
  if (element.hidden !== is) element.hidden = is;
  if (hadFocus) find('add').focus();
}

export class Header {
  #act;
  #adding = [0, 0];
  #last = null;
  #kinds = new Map();

  /** @param {{act: (command: string, args: object) => unknown}} ports */
  constructor({ act }) {
    this.#act = act;
    find('trouble-close').addEventListener('click', () => setHidden(find('trouble'), true));
  }

  showTrouble(message) {
    find('trouble').hidden = false;
    find('trouble-text').textContent = message;
  }

  /** @param {'open' | 'lost' | 'refused'} how */
  setLink(how) {
    find('link-lost').hidden = how === 'open';
    setText(find('link-lost'), LINKS[how] || '');
  }

  setAdding(left, of) {
    this.#adding = [left, of];
    if (this.#last) this.update(this.#last);
  }

  update(state) {
    this.#last = state;
    const { rows, totals, settings, sizes } = state;
    const text = this.#summary(state);
    setText(find('summary'), text);
    const share = totals.total > 0 ? totals.sent / totals.total : 1;
    find('total').hidden = totals.live === 0;
    find('total').value = share;
    const title = totals.live > 0 ? `${Math.floor(share * 100)} % \u2013 Uploads` : 'Uploads';
    if (document.title !== title) document.title = title;
    setIcon(find('pause'), settings.paused ? 'play' : 'pause');
    setText(find('pause').querySelector('span'), settings.paused ? 'Resume' : 'Pause');
    setText(find('account'), settings.signedIn || 'Sign in');
    find('account').title = settings.signedIn ? `Signed in as ${settings.signedIn}` : '';
    setHidden(find('empty'), sizes.live + sizes.done > 0);
    setHidden(find('live'), sizes.live === 0);
    setHidden(find('done'), sizes.done === 0);
    setText(find('done-count'), String(sizes.done));
    setText(find('live-count'), String(sizes.live));
    this.#updateNotice(rows);
    this.#updateKinds(rows, settings);
  }

  #summary({ totals, speed, settings }) {
    const [left, of] = this.#adding;
    if (left > 0) return `Adding ${of - left + 1} of ${count(of, 'file')}\u2026`;
    const { live, done, failed, sent, total } = totals;
    const failures = failed > 0 ? `${failed} failed` : '';
    if (live === 0) return failures || (done > 0 ? 'Everything is uploaded' : 'Nothing to upload');
    const said = [`${done} of ${live + done} done`, part(sent, total)];
    if (settings.paused) said.push('paused');
    else if (speed > 0) said.push(`${duration((total - sent) / speed * 1000)} left`);
    if (failures) said.push(failures);
    return said.join(' \u00b7 ');
  }

  #updateNotice(rows) {
    const waiting = rows.filter(({ state }) => state === 'awaiting-auth').length;
    setHidden(find('sign-in-wanted'), waiting === 0);
    if (waiting > 0) {
      setText(find('sign-in-why'), `${count(waiting, 'upload waits', 'uploads wait')} for you to sign in.`);
    }
  }

  /** One switch for each kind that waits or moves, or is paused. */
  #updateKinds(rows, { pausedKinds }) {
    const counts = new Map(pausedKinds.map((kind) => [kind, 0]));
    for (const row of rows.filter(isLive)) counts.set(row.kind, (counts.get(row.kind) || 0) + 1);
    for (const [kind, button] of this.#kinds) {
      if (counts.has(kind)) continue;
      setHidden(button, true);
      button.remove();
      this.#kinds.delete(kind);
    }
    for (const [kind, number] of counts) {
      const button = this.#kinds.get(kind) || this.#makeSwitch(kind);
      const paused = pausedKinds.includes(kind);
      button.setAttribute('aria-pressed', String(paused));
      button.title = `${paused ? 'Resume' : 'Pause'} all ${kindName(kind).toLowerCase()}`;
      setIcon(button, paused ? 'play' : 'pause');
      setText(button.querySelector('span'), `${kindName(kind)} ${number}`);
    }
  }

  #makeSwitch(kind) {
    const button = document.createElement('button');
    button.type = 'button';
    button.append(icon('pause'), document.createElement('span'));
    button.addEventListener('click', () => {
      this.#act(button.getAttribute('aria-pressed') === 'true' ? 'resume' : 'pause', { kind });
    });
    this.#kinds.set(kind, button);
    find('kinds').append(button);
    return button;
  }
}
