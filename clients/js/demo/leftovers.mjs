import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';

/** What the directory holds besides bodies: the database, the lock, the socket. */
const KEPT = [/^queue\.db(-wal|-shm)?$/, /lock$/];

/**
 * The regular files under a queue's directory that could be bodies.
 * @param {string} dir
 * @returns {Promise<string[]>} paths from `dir`
 */
export async function bodiesIn(dir) {
  const files = [];
  const walk = async (folder) => {
    for (const entry of await readdir(path.join(dir, folder), { withFileTypes: true })) {
      const name = path.join(folder, entry.name);
      if (entry.isDirectory()) await walk(name);
      else if (entry.isFile() && !KEPT.some((kept) => kept.test(name))) files.push(name);
    }
  };
  await walk('.');
  return files;
}

/**
 * Bytes that the database's files take: a body may not hide in there either.
 * @param {string} dir
 */
export async function databaseBytes(dir) {
  let bytes = 0;
  for (const name of await readdir(dir)) {
    if (KEPT[0].test(name)) bytes += (await stat(path.join(dir, name))).size;
  }
  return bytes;
}
