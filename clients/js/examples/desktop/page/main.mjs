// The page: keeps what the host tells, shows it, and sends what the user wants.
import { Intake } from './adding.mjs';
import { openBridge } from './bridge.mjs';
import { Header } from './header.mjs';
import { List } from './list.mjs';
import { news } from './news.mjs';
import { describeShortcuts, listenForKeys } from './shortcuts.mjs';
import { SignIn } from './sign-in.mjs';
import { Batch, Pace, isLive } from './totals.mjs';

/** Why rows wait is asked again so often: some reasons change without any event. */
const REASONS_MS = 3000;
const NEWS_MS = 700;
const WAITING = ['queued', 'paused', 'awaiting-auth'];

const find = (id) => document.getElementById(id);
const bridge = openBridge();
const rows = new Map();
const gates = new Map();
const paces = new Map();
const dirty = new Set();
const batch = new Batch();
let settings = { server: '', signedIn: null, paused: false, pausedKinds: [] };
let changes = [];
let newsTimer = null;
let frame = null;

const header = new Header({ act: (command, args) => act(command, args) });
const signIn = new SignIn({ signIn: (account) => bridge.call('signIn', account) });
const intake = new Intake({
  add: (file) => bridge.add(file),
  onAdding: (left, of) => header.setAdding(left, of),
  onTrouble: (message) => header.showTrouble(message),
});
const ports = { onAct: actOn, onVisible: () => askReasons() };
const lists = { live: new List(find('queue'), ports), done: new List(find('finished'), ports) };

/** Sends a command; what goes wrong is shown. */
async function act(command, args) {
  try {
    await bridge.call(command, args);
  } catch (error) {
    header.showTrouble(error.message);
  }
}

function actOn(what, id) {
  const row = rows.get(id);
  switch (what) {
    case 'pause': return act(settings.paused ? 'resume' : 'pause');
    case 'add': return find('picker').click();
    case 'help': return find('shortcuts').showModal();
    case 'signIn': return signIn.show(settings);
    case 'cancel': return act('cancel', { id });
    case 'kind':
      if (!row || !isLive(row)) return undefined;
      return act(settings.pausedKinds.includes(row.kind) ? 'resume' : 'pause', { kind: row.kind });
    case 'again':
      if (row && row.state === 'awaiting-auth') return signIn.show(settings);
      if (row && (row.state === 'error' || row.nextAttemptAt !== undefined)) return act('retry', { id });
      return undefined;
    default: throw new Error(`no such act: ${what}`);
  }
}

/** @param {object} row @param {boolean} [isNews] whether it came while the page was open */
function takeRow(row, isNews = false) {
  const before = rows.get(row.id);
  rows.set(row.id, row);
  dirty.add(row.id);
  if (row.state !== 'running') paces.delete(row.id);
  if (before ? before.state !== row.state : isNews) {
    changes.push({ ...row, isNew: !before });
    if (!newsTimer) newsTimer = setTimeout(tellNews, NEWS_MS);
    // What was known of it is about another state.
    gates.delete(row.id);
  }
}

function dropRow(id) {
  for (const kept of [rows, gates, paces]) kept.delete(id);
  dirty.add(id);
}

function onSnapshot(snapshot) {
  ({ settings } = snapshot);
  const ids = new Set(snapshot.rows.map(({ id }) => id));
  for (const id of rows.keys()) if (!ids.has(id)) dropRow(id);
  for (const row of snapshot.rows) takeRow(row);
  document.body.dataset.ready = 'yes';
  paint();
  askReasons();
}

function onChange({ rows: changed, gone, progress, settings: other }) {
  for (const row of changed) takeRow(row, true);
  gone.forEach(dropRow);
  const now = Date.now();
  for (const [id, sent] of progress) {
    const row = rows.get(id);
    if (!row) continue;
    row.sent = sent;
    if (!paces.has(id)) paces.set(id, new Pace());
    paces.get(id).note(sent, now);
    dirty.add(id);
  }
  if (other) {
    if (other.paused !== settings.paused) say(other.paused ? 'Everything is paused.' : 'Uploads go on.');
    settings = other;
    for (const id of rows.keys()) dirty.add(id);
  }
  paint();
  if (changed.length > 0 || other) askReasons();
}

/** At most once a frame, and only rows that have changed. */
function paint() {
  if (!frame) frame = requestAnimationFrame(draw);
}

function draw() {
  frame = null;
  const now = Date.now();
  let speed = 0;
  for (const pace of paces.values()) speed += pace.speed(now);
  for (const id of dirty) drawRow(id, now);
  dirty.clear();
  const all = [...rows.values()];
  const totals = batch.count(all);
  header.update({ rows: all, totals, speed, settings, sizes: sizes() });
  bridge.showProgress(totals.live > 0 && totals.total > 0 ? totals.sent / totals.total : null);
}

function sizes() {
  return { live: lists.live.size, done: lists.done.size };
}

function drawRow(id, now) {
  const row = rows.get(id);
  const place = row && (row.state === 'completed' ? 'done' : 'live');
  for (const name of Object.keys(lists)) if (name !== place) lists[name].remove(id);
  if (!row) return;
  const pace = paces.get(id);
  lists[place].set(row, {
    gates: gates.get(id) || [], speed: pace ? pace.speed(now) : 0, now,
    kindPaused: settings.pausedKinds.includes(row.kind),
  }, { newestFirst: place === 'done' });
}

function tellNews() {
  newsTimer = null;
  const all = [...rows.values()];
  const text = news(changes.filter(({ id }) => rows.has(id)), {
    live: all.filter(isLive).length, waiting: all.filter(({ state }) => state === 'awaiting-auth').length,
  });
  changes = [];
  if (text) say(text);
}

function say(text) {
  find('news').textContent = text;
}

let asking = false;
let askAgain = false;

/** Asks why the rows that are in sight wait. One question at a time. */
async function askReasons() {
  if (asking) {
    askAgain = true;
    return;
  }
  const ids = lists.live.visible.filter((id) => WAITING.includes((rows.get(id) || {}).state));
  if (ids.length === 0) return;
  asking = true;
  try {
    for (const [id, found] of Object.entries(await bridge.call('reasons', { ids }))) {
      gates.set(id, found);
      dirty.add(id);
    }
    paint();
  } catch (error) {
    // The link is told of elsewhere, and the question comes again.
  } finally {
    asking = false;
    if (askAgain) setTimeout(askReasons, 200);
    askAgain = false;
  }
}

/** Counts down what is in sight. */
function tick() {
  for (const id of lists.live.visible) {
    const row = rows.get(id);
    if (row && (row.nextAttemptAt !== undefined || row.state === 'running')) dirty.add(id);
  }
  if (dirty.size > 0) paint();
}

for (const list of ['queue', 'finished']) listenForKeys(find(list), actOn);
describeShortcuts(find('shortcut-list'));
intake.listen(find('picker'));
for (const id of ['add', 'add-first']) find(id).addEventListener('click', () => find('picker').click());
for (const id of ['account', 'sign-in-now']) find(id).addEventListener('click', () => signIn.show(settings));
find('help').addEventListener('click', () => find('shortcuts').showModal());
find('shortcuts-close').addEventListener('click', () => find('shortcuts').close());
find('pause').addEventListener('click', () => actOn('pause'));
find('clear').addEventListener('click', () => act('clearFinished'));
setInterval(tick, 1000);
setInterval(askReasons, REASONS_MS);
bridge.connect({ onSnapshot, onChange, onLink: (how) => header.setLink(how) });
