/** The sidecar answered a call with an error. Programs switch on `code`. */
export class CallError extends Error {
  /**
   * @param {string} method the method that was called
   * @param {{code: number, message: string, data?: object}} error the frame's `error` member
   */
  constructor(method, error) {
    super(`${method}: ${error.message}`);
    this.name = 'CallError';
    this.method = method;
    /** `data.code`, such as `E_INVALID`; `E_UNKNOWN` when the frame names none. */
    this.code = error.data?.code ?? 'E_UNKNOWN';
    /** The number of JSON-RPC. */
    this.rpcCode = error.code;
    /** Where in the params the fault is, when the sidecar says so. */
    this.path = error.data?.path;
    this.data = error.data;
  }
}

/** The sidecar is gone; every call that had no answer fails with this. */
export class SidecarExited extends Error {
  /** @param {{exitCode: number | null, signal: string | null, stderr: string}} exit */
  constructor({ exitCode, signal, stderr }) {
    const how = signal ? `was ended by ${signal}` : `exited with status ${exitCode}`;
    const last = stderr.trimEnd().split('\n').pop();
    super(`the sidecar ${how}${last ? `: ${last}` : ''}`);
    this.name = 'SidecarExited';
    this.code = 'E_SIDECAR_EXITED';
    /** Exit status, or null when a signal ended it. */
    this.exitCode = exitCode;
    /** Name of the signal, or null. */
    this.signal = signal;
    /** The last 64 KiB of what it wrote to stderr. */
    this.stderr = stderr;
  }
}

/** The sidecar could not be started; `code` tells which part was missing. */
export class SpawnError extends Error {
  /**
   * @param {'E_BINARY_MISSING' | 'E_CWD_MISSING' | 'E_LOADER_MISSING' | 'E_SPAWN'} code
   * @param {string} message
   * @param {{cause?: Error}} [options]
   */
  constructor(code, message, options) {
    super(message, options);
    this.name = 'SpawnError';
    this.code = code;
  }
}

/** A call that this client refuses to send, or can no longer send. */
export class ClientError extends Error {
  /**
   * @param {'E_LINE_TOO_LONG' | 'E_CLOSED'} code
   * @param {string} message
   */
  constructor(code, message) {
    super(message);
    this.name = 'ClientError';
    this.code = code;
  }
}
