import { createCipheriv, createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

export const SIZE = 256 * 1024 * 1024;
/** SHA-256 of the file that `writeKnownFile` makes, known before it is made. */
export const SHA256 = '795db51677524a3d66d576203dccfee47fe23789fbe5c98c2b255fbd0910a367';

/**
 * Writes SIZE bytes that look random and are always the same: the key stream of AES-256-CTR for the key 0.
 * @param {string} path a file that does not exist yet
 * @returns {Promise<string>} the SHA-256 of what was written, in hex
 */
export async function writeKnownFile(path) {
  const stream = createCipheriv('aes-256-ctr', Buffer.alloc(32), Buffer.alloc(16));
  const zeros = Buffer.alloc(4 * 1024 * 1024);
  const hash = createHash('sha256');
  const file = await open(path, 'wx');
  try {
    for (let written = 0; written < SIZE; written += zeros.length) {
      const piece = stream.update(zeros);
      hash.update(piece);
      await file.write(piece);
    }
  } finally {
    await file.close();
  }
  return hash.digest('hex');
}

/**
 * @param {string} path
 * @returns {Promise<{sha256: string, bytes: number}>}
 */
export async function hashOf(path) {
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(path, 'r');
  for await (const piece of file.createReadStream()) {
    hash.update(piece);
    bytes += piece.length;
  }
  return { sha256: hash.digest('hex'), bytes };
}
