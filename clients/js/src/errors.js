'use strict';

/** The sidecar answered a call with an error. Programs switch on `code`. */
class CallError extends Error {
  /**
   * @param {string} method the method that was called
   * @param {{code: number, message: string, data?: object}} error the frame's `error` member
   */
  constructor(method, error) {
    super(`${method}: ${error.message}`);
    this.name = 'CallError';
    this.method = method;
    this.code = error.data?.code ?? 'E_UNKNOWN';
    this.rpcCode = error.code;
    this.path = error.data?.path;
    this.data = error.data;
  }
}

/** The sidecar is gone; every call that had no answer fails with this. */
class SidecarExited extends Error {
  /** @param {{exitCode: number | null, signal: string | null, stderr: string, entryId?: string}} exit */
  constructor({ exitCode, signal, stderr, entryId }) {
    const how = signal ? `was ended by ${signal}` : `exited with status ${exitCode}`;
    const last = stderr.trimEnd().split('\n').pop();
    super(`the sidecar ${how}${last ? `: ${last}` : ''}`);
    this.name = 'SidecarExited';
    this.code = 'E_SIDECAR_EXITED';
    this.exitCode = exitCode;
    this.signal = signal;
    this.stderr = stderr;
    if (entryId !== undefined) this.entryId = entryId;
  }

  /** The same end, for the mutate of one entry: repeating it under this id is safe. */
  forEntry(entryId) {
    return new SidecarExited({ ...this, entryId });
  }
}

/** The sidecar could not be started; `code` tells which part was missing. */
class SpawnError extends Error {
  /**
   * @param {'E_BINARY_MISSING' | 'E_CWD_MISSING' | 'E_LOADER_MISSING' | 'E_SPAWN' | 'E_START_TIMEOUT'} code
   * @param {string} message
   * @param {{cause?: Error}} [options]
   */
  constructor(code, message, options) {
    super(message, options);
    this.name = 'SpawnError';
    this.code = code;
  }
}

/** Something that this client refuses to send, or can no longer send. */
class ClientError extends Error {
  /**
   * @param {'E_INVALID' | 'E_LINE_TOO_LONG' | 'E_CLOSED' | 'E_RESTARTS' | 'E_NOT_CONFIGURED'} code
   * @param {string} message
   * @param {{path?: string, cause?: Error}} [options] `path` says where in the input the fault is
   */
  constructor(code, message, { path, cause } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ClientError';
    this.code = code;
    if (path !== undefined) this.path = path;
  }
}

module.exports = { CallError, SidecarExited, SpawnError, ClientError };
