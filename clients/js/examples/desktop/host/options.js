'use strict';

const path = require('node:path');

const NAMES = ['server', 'dir', 'port', 'binary'];

/**
 * Reads `--server URL --dir DIR --port N --binary FILE`; what else there is belongs to Electron.
 * @param {string[]} words
 * @param {{dir: string}} defaults
 * @throws {Error} a value is missing or of a wrong kind
 */
function readOptions(words, { dir }) {
  const given = { server: 'http://127.0.0.1:8787', dir, port: '0' };
  // Electron's and Chromium's own switches come in between.
  for (let at = 0; at < words.length; at += 1) {
    const name = words[at].replace(/^--/, '');
    if (!words[at].startsWith('--') || !NAMES.includes(name)) continue;
    if (words[at + 1] === undefined) throw new Error(`${words[at]} needs a value`);
    given[name] = words[at + 1];
    at += 1;
  }
  if (!/^https?:\/\/[^/]/.test(given.server)) throw new Error('--server must be an http or https URL');
  const port = Number(given.port);
  if (!Number.isInteger(port) || port < 0 || port > 65535) throw new Error('--port must be from 0 to 65535');
  return { ...given, port, dir: path.resolve(given.dir) };
}

module.exports = { readOptions };
