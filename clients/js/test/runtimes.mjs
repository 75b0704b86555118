import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const INSTALLED = fileURLToPath(new URL('../../../.build/runtimes/bin', import.meta.url));

/** The path of another program that can run the client, such as `deno`; null where there is none. */
export function findRuntime(name) {
  for (const folder of [INSTALLED, ...(process.env.PATH ?? '').split(path.delimiter)]) {
    const file = path.join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // The next place may have it.
    }
  }
  return null;
}
