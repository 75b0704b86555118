// What a screen reader is told: that something began, ended or needs the user, never how far it is.
import { count, failureText, visibleName } from './words.mjs';

/**
 * One short text for all that happened within a moment.
 * @param {{name: string, state: string, isNew?: boolean, failure?: object}[]} changes rows that came or
 *   have another state
 * @param {{live: number, waiting: number}} now how many are not done, and how many wait for a sign-in
 * @returns {string} '' when nothing is worth it
 */
export function news(changes, { live, waiting }) {
  const said = [];
  const of = (state) => changes.filter((row) => row.state === state);
  const added = changes.filter(({ isNew }) => isNew).length;
  const [done, failed, asking] = [of('completed'), of('error'), of('awaiting-auth')];
  if (added > 0) said.push(`${count(added, 'file')} added.`);
  if (done.length === 1) said.push(`${visibleName(done[0].name)} is uploaded.`);
  if (done.length > 1) said.push(`${done.length} files are uploaded.`);
  if (done.length > 0 && live === 0 && failed.length === 0) said.push('Nothing is left to do.');
  if (failed.length === 1) {
    said.push(`${visibleName(failed[0].name)} failed. ${failureText(failed[0].failure)}.`);
  }
  if (failed.length > 1) said.push(`${failed.length} files failed.`);
  if (asking.length > 0) said.push(`${count(waiting, 'upload waits', 'uploads wait')} for you to sign in.`);
  return said.join(' ');
}
