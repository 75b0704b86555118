/** The sidecar answered with an error. Switch on `code`. */
export declare class CallError extends Error {
  constructor(method: string, error: { code: number; message: string; data?: object });
  readonly method: string;
  /** Such as `E_INVALID`; `E_UNKNOWN` when the answer names none. */
  readonly code: string;
  /** The number of JSON-RPC. */
  readonly rpcCode: number;
  /** Where in the params the fault is. */
  readonly path?: string;
  readonly data?: { readonly [name: string]: unknown };
}

/** This client refuses to send something, or can no longer send it. */
export declare class ClientError extends Error {
  constructor(code: ClientError['code'], message: string, options?: { path?: string; cause?: Error });
  /**
   * `E_RESTARTS`: the sidecar ended five times within three minutes. `E_NOT_CONFIGURED`: `configure` comes
   * first.
   */
  readonly code: 'E_INVALID' | 'E_LINE_TOO_LONG' | 'E_CLOSED' | 'E_RESTARTS' | 'E_NOT_CONFIGURED';
  /** Which field or option, such as `request.parts[2].url`. */
  readonly path?: string;
}

/** The sidecar ended before it answered. Accepted work is on disk; the next call starts it again. */
export declare class SidecarExited extends Error {
  constructor(exit: { exitCode: number | null; signal: string | null; stderr: string; entryId?: string });
  readonly code: 'E_SIDECAR_EXITED';
  /** null when a signal ended it. */
  readonly exitCode: number | null;
  /** Name of the signal, or null. */
  readonly signal: string | null;
  /** The last 64 KiB of what it wrote to stderr. */
  readonly stderr: string;
  /** From `mutate`: the id to repeat the call under. */
  readonly entryId?: string;
}

/** The sidecar could not be started; `code` tells what was missing. */
export declare class SpawnError extends Error {
  constructor(code: SpawnError['code'], message: string, options?: { cause?: Error });
  readonly code:
    'E_BINARY_MISSING' | 'E_CWD_MISSING' | 'E_LOADER_MISSING' | 'E_SPAWN' | 'E_START_TIMEOUT';
}
