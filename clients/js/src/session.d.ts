import type { Calls, ServerPeer, ServerLimits } from './protocol.js';
import type { SidecarExited } from './index.js';

/** What `Session.open` takes. */
export interface SessionOptions {
  /** The queue's directory. */
  dir: string;
  binary?: string;
  /** More arguments of `outtray serve`. */
  args?: readonly string[];
  cwd?: string;
  env?: Record<string, string | undefined>;
  /** Start it in a session of its own, out of reach of this terminal's Ctrl-C and hang-up. Default false. */
  detached?: boolean;
  /** How long the first answer may take, milliseconds. Default 30,000. */
  startMs?: number;
  onEvent?: (event: string, params: any) => void;
  onExit?: (exit: SidecarExited) => void;
  /** A line came that is no frame for us. */
  onNoise?: (line: Uint8Array, why: string) => void;
}

/**
 * One sidecar process and the conversation with it, by the methods of the protocol: what the client stands
 * on.
 */
export declare class Session {
  private constructor();
  static open(options: SessionOptions): Promise<Session>;
  /** The answer to `initialize`. */
  readonly server: Calls['initialize']['result'] & { server: ServerPeer; limits: ServerLimits };
  /** Resolves once the process is gone and reaped. */
  readonly exited: Promise<SidecarExited>;
  call<Method extends keyof Calls>(
    method: Method, params?: Calls[Method]['params']): Promise<Calls[Method]['result']>;
  call(method: string, params?: object): Promise<any>;
  /** Whether Node stays alive for it while no call is in flight; false at first. */
  hold(wanted: boolean): void;
  kill(signal: string): void;
  /**
   * Resolves once the process is reaped: the end of stdin, after `closeMs` SIGTERM, after `termMs` more
   * SIGKILL. One that closes its stdout and goes on, since it serves other hosts, gets no signal; it resolves
   * with null 1.5 s later.
   */
  close(limits?: { closeMs?: number; termMs?: number }): Promise<SidecarExited | null>;
  /**
   * For a process with `--on-disconnect drain` or `stay:SECONDS`: ends stdin, waits until the calls that were
   * made are answered, and lets it go on without a signal. Resolves with null then, and with how it ended
   * when it had nothing to do and is reaped.
   */
  leave(): Promise<SidecarExited | null>;
}
