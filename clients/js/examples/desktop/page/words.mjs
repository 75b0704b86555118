// What the page says, made from rows and numbers. Nothing here touches the page.

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Bytes for people: 0 B, 999 B, 1.5 kB, 12 MB. */
export function bytes(count) {
  let value = count;
  let unit = 0;
  // 999,950 would be written as 1000.0 kB.
  while (value >= (unit === 0 ? 1000 : 999.95) && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = unit === 0 || value >= 9.95 ? 0 : 1;
  return `${value.toFixed(digits)}\u00a0${UNITS[unit]}`;
}

/** How far something is: "4.2 of 10 MB", with the unit once where both have it. */
export function part(sent, total) {
  const [low, lowUnit] = bytes(sent).split('\u00a0');
  const [high, highUnit] = bytes(total).split('\u00a0');
  const first = lowUnit === highUnit ? low : `${low}\u00a0${lowUnit}`;
  return `${first} of ${high}\u00a0${highUnit}`;
}

/** A span of time, rounded up: 1 s, 59 s, 3 min, 1 h 5 min, 2 days. */
export function duration(ms) {
  const seconds = Math.max(1, Math.ceil(ms / 1000));
  if (seconds < 60) return `${seconds}\u00a0s`;
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 60) return `${minutes}\u00a0min`;
  if (minutes < 24 * 60) {
    const rest = minutes % 60;
    return `${Math.floor(minutes / 60)}\u00a0h${rest === 0 ? '' : ` ${rest}\u00a0min`}`;
  }
  const days = Math.ceil(minutes / (24 * 60));
  return days === 1 ? '1\u00a0day' : `${days}\u00a0days`;
}

export function count(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}

const KINDS = {
  picture: 'Pictures', video: 'Videos', audio: 'Audio', document: 'Documents', other: 'Other files',
};

/** The name of a kind of file, in the plural. */
export function kindName(kind) {
  return KINDS[kind] || KINDS.other;
}

/**
 * A file's name as it may be shown: controls, and marks that turn the direction of writing around so that
 * `gpj.exe` reads as `exe.jpg`, are made visible. All else stays; it is set as text, never as markup.
 */
export function visibleName(name) {
  const hidden = /[\u0000-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
  return name.replace(hidden, (mark) => {
    const code = mark.charCodeAt(0).toString(16).toUpperCase();
    return `\u2039U+${code.padStart(4, '0')}\u203a`;
  });
}

/** What went wrong at the last attempt, in a sentence without its full stop. */
export function failureText(failure) {
  if (!failure) return 'It failed';
  const { errorKind, httpCode, message = '' } = failure;
  if (httpCode === 413) return 'The server says it is too large (413)';
  if (httpCode === 429) return 'The server asks for patience (429)';
  if (httpCode >= 500) return `The server has trouble (${httpCode})`;
  if (httpCode) return `The server refused it (${httpCode})`;
  if (errorKind === 'expired') return 'It waited too long and was given up';
  if (errorKind === 'file') return `The file cannot be read: ${message}`;
  if (/resolve|name|connect|refused|reach|route/i.test(message)) return 'The server cannot be reached';
  return message ? `The connection failed: ${message}` : 'The connection failed';
}

/** Gates in the order in which a person can do something about them. */
const GATES = [
  ['credentials', () => 'Waits for you to sign in'],
  ['queue', () => 'Paused'],
  ['key', ({ kind }) => `${kindName(kind)} are paused`.replace('Audio are', 'Audio is')],
  ['network', () => 'Waits for an unmetered network'],
  ['store', () => 'Waits: the disk of the queue cannot be written'],
  ['backoff', (row, gate, now) => `${failureText(row.failure)}. ${nextTry(gate.until, now)}`],
  ['outage', (row) => `${failureText(row.failure)}. Goes on as soon as it is back`],
  ['origin', () => 'Waits for its turn at the server'],
  ['slots', () => 'Waits for its turn'],
];

function nextTry(until, now) {
  return until > now ? `Next try in ${duration(until - now)}` : 'Tries again now';
}

/**
 * Why a row waits.
 * @param {object} row
 * @param {{gate: string, until?: number}[]} gates as `explain` told them; [] when it was not asked yet
 * @param {number} now
 */
export function reason(row, gates, now) {
  for (const [name, say] of GATES) {
    const closed = gates.find(({ gate }) => gate === name);
    if (closed) return say(row, closed, now);
  }
  if (row.state === 'awaiting-auth') return GATES[0][1]();
  if (row.state === 'paused') return 'Paused';
  if (row.nextAttemptAt === undefined) return 'Waits for its turn';
  return `${failureText(row.failure)}. ${nextTry(row.nextAttemptAt, now)}`;
}

/**
 * The line under a name, and the tone in which it is shown: busy, quiet, ask, bad or good.
 * @param {object} row
 * @param {{gates: object[], speed: number, now: number}} about speed in bytes a second, 0 when unknown
 */
export function status(row, { gates, speed, now }) {
  switch (row.state) {
    case 'running': return { tone: 'busy', text: runningText(row, speed) };
    case 'completed': return { tone: 'good', text: `Uploaded ${clock(row.updatedAt, now)}` };
    case 'error': return { tone: 'bad', text: failureText(row.failure) };
    case 'awaiting-auth': return { tone: 'ask', text: reason(row, gates, now) };
    default: {
      const tone = row.nextAttemptAt === undefined ? 'quiet' : 'ask';
      return { tone, text: reason(row, gates, now) };
    }
  }
}

function runningText({ sent, total }, speed) {
  if (sent >= total) return 'Waits for the answer';
  if (speed <= 0) return 'Uploading';
  return `${bytes(speed)}/s, ${duration((total - sent) / speed * 1000)} left`;
}

/** A time of today as hours and minutes, an older one as its date. */
function clock(at, now) {
  const [then, today] = [new Date(at), new Date(now)];
  const two = (number) => String(number).padStart(2, '0');
  if (then.toDateString() === today.toDateString()) {
    return `at ${two(then.getHours())}:${two(then.getMinutes())}`;
  }
  return `on ${then.getFullYear()}-${two(then.getMonth() + 1)}-${two(then.getDate())}`;
}
