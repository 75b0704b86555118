import { writeSync } from 'node:fs';

let left = Number(process.env.OBSERVATIONS_KILL_AFTER);

/**
 * Tells on stdout that a step of this program is done. With OBSERVATIONS_KILL_AFTER=N the program kills
 * itself behind the Nth, which shows that nothing is lost then and nothing is done twice.
 */
export function step(...words) {
  writeSync(1, `step ${words.join(' ')}\n`);
  left -= 1;
  if (left === 0) process.kill(process.pid, 'SIGKILL');
}
