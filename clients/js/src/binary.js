'use strict';

const { accessSync, constants, existsSync, statSync } = require('node:fs');
const path = require('node:path');
const { SpawnError } = require('./errors.js');

/** Where a platform's package keeps the executable. */
const BUNDLED = 'bin/outtray';

/**
 * Finds the sidecar's executable: the option, then OUTTRAY_BINARY, then the package of this platform, then
 * `outtray` on PATH. PATH comes last because a program started from a desktop does not have the shell's.
 * @param {string | undefined} option
 * @param {Record<string, string | undefined>} env
 * @param {(name: string) => string} [resolve] finds a file of a package, as `require.resolve` does
 * @returns {{file: string, source: string}} `source` names the place it came from, for error messages
 * @throws {SpawnError} E_BINARY_MISSING when none of them names one
 */
function findBinary(option, env, resolve = require.resolve) {
  if (option) return { file: outsideArchive(option), source: 'the option `binary`' };
  if (env.OUTTRAY_BINARY) return { file: outsideArchive(env.OUTTRAY_BINARY), source: 'OUTTRAY_BINARY' };
  const bundled = findBundled(resolve);
  if (bundled) return { file: bundled, source: platformPackage() };
  for (const folder of (env.PATH ?? '').split(path.delimiter)) {
    const file = path.join(folder, 'outtray');
    if (folder && isExecutable(file)) return { file, source: 'PATH' };
  }
  throw new SpawnError(
    'E_BINARY_MISSING',
    `no sidecar found for ${process.platform}-${process.arch}: the package ${platformPackage()} is not `
    + 'installed (a lock file made on another system leaves it out, and a bundler must leave outtray '
    + 'external); install it, give the option `binary`, set OUTTRAY_BINARY, or put `outtray` on PATH');
}

/**
 * A program cannot be run inside an Electron archive; Electron unpacks it beside the archive, and the path
 * has to say so.
 * @param {string} file
 */
function outsideArchive(file) {
  return file.replace(/\.asar(?=[\\/])/, '.asar.unpacked');
}

/** The name of the package that carries the executable for this platform. */
function platformPackage() {
  return `@outtray/${process.platform}-${process.arch}`;
}

function findBundled(resolve) {
  try {
    const folder = path.dirname(resolve(`${platformPackage()}/package.json`));
    return path.join(outsideArchive(folder), BUNDLED);
  } catch {
    return null;
  }
}

/**
 * Says what a failed spawn was missing. ENOENT alone does not tell: Node reports it with the binary's name
 * whether the binary, the working directory or the binary's own loader is absent.
 * @param {NodeJS.ErrnoException} error
 * @param {{file: string, source: string, cwd?: string}} attempt
 * @returns {SpawnError}
 */
function explainSpawnFailure(error, { file, source, cwd }) {
  if (error.code !== 'ENOENT') {
    const hint = error.code === 'EACCES' ? '; is it executable?' : '';
    const message = `cannot run ${file} (from ${source}): ${error.message}${hint}`;
    return new SpawnError('E_SPAWN', message, { cause: error });
  }
  if (cwd !== undefined && !existsSync(cwd)) {
    return new SpawnError('E_CWD_MISSING', `the working directory ${cwd} does not exist`, { cause: error });
  }
  if (existsSync(path.resolve(cwd ?? '.', file))) {
    const message = `${file} (from ${source}) is there, but its loader is not: built for another system?`;
    return new SpawnError('E_LOADER_MISSING', message, { cause: error });
  }
  return new SpawnError('E_BINARY_MISSING', `${file} (from ${source}) does not exist`, { cause: error });
}

function isExecutable(file) {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

module.exports = { findBinary, explainSpawnFailure, outsideArchive, platformPackage };
