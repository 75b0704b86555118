import { accessSync, constants, existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { SpawnError } from './errors.js';

/**
 * Finds the sidecar's executable: the option, then OUTTRAY_BINARY, then `outtray` on PATH.
 * @param {string | undefined} option
 * @param {NodeJS.ProcessEnv} env
 * @returns {{file: string, source: string}} `source` names the place it came from, for error messages
 * @throws {SpawnError} E_BINARY_MISSING when none of the three names one
 */
export function findBinary(option, env) {
  if (option) return { file: option, source: 'the option `binary`' };
  if (env.OUTTRAY_BINARY) return { file: env.OUTTRAY_BINARY, source: 'OUTTRAY_BINARY' };
  for (const folder of (env.PATH ?? '').split(path.delimiter)) {
    const file = path.join(folder, 'outtray');
    if (folder && isExecutable(file)) return { file, source: 'PATH' };
  }
  throw new SpawnError(
    'E_BINARY_MISSING',
    'no sidecar found: give the option `binary`, set OUTTRAY_BINARY, or put `outtray` on PATH');
}

/**
 * Says what a failed spawn was missing. ENOENT alone does not tell: Node reports it with the binary's name
 * whether the binary, the working directory or the binary's own loader is absent.
 * @param {NodeJS.ErrnoException} error
 * @param {{file: string, source: string, cwd?: string}} attempt
 * @returns {SpawnError}
 */
export function explainSpawnFailure(error, { file, source, cwd }) {
  if (error.code !== 'ENOENT') {
    const message = `cannot run ${file} (from ${source}): ${error.message}`;
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
