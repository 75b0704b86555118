import type {
  AcceptRule, Attempt, Bandwidth, Concurrency, DiagnosticRecord, Enqueued, Explanation, GroupExplanation,
  GroupStatus, Headers, Method, Part, Progress, Range, Retry, Row, ServerLimits, State, Stats, TimeoutLayer,
  Timeouts, TLS,
} from './protocol.js';
import type { Definition, ParsedDefinition, RawDefinition, VarsLimit } from './define.js';
import type { GroupOutcome, Pipeline, Scope, Together } from './pipeline.js';
import type { FakeSidecar } from './testing.js';

export type {
  AcceptRule, Attempt, Backoff, Bandwidth, Concurrency, DiagnosticRecord, Explanation, FormField, Gate,
  GroupExplanation, GroupSettled, GroupStatus, Headers, Method, Part, Progress, Range, Retry, SettledCounts,
  State, Stats, TerminalHttp, Timeouts, TLS, TLSHost, TransientRule,
} from './protocol.js';

export type { Definition, DefinitionOf, ParsedDefinition, RawDefinition, VarsLimit } from './define.js';

export type {
  Accepted, Binding, Bound, BoundValue, Given, GroupOutcome, MutateOptions, Pipeline, Scope, Step, Together,
} from './pipeline.js';

export { CallError, ClientError, SidecarExited, SpawnError } from './errors.js';

declare global {
  interface SymbolConstructor {
    readonly asyncDispose: unique symbol;
  }
}

/**
 * Makes a client of the queue in a directory. The sidecar process is started by the first call that needs it,
 * and after its death by the next one, five starts within three minutes at most.
 *
 * An idle client does not keep Node alive. A call in flight does, so does a `for await` loop over events,
 * and, once `configure` was called, so does an entry enqueued here whose outcome has not come (not with
 * `background`).
 * @throws {ClientError} `E_INVALID`: an option is unknown or of a wrong kind.
 */
export declare function createUploadClient(options: ClientOptions): UploadClient;

/**
 * Cuts `size` bytes into ranges: as many of `max` (default 20 MiB) as fit, then the rest; a rest under `min`
 * (default 8 MiB) joins the range before it. The same numbers always give the same plan. A size of 0 is the
 * one range {0, 0}.
 * @throws {ClientError} `E_INVALID`, naming the argument: not a safe integer, `min` under 1, `max` under
 *   `min`, or more than 100,000 ranges
 */
export declare function chunkPlan(size: number, limits?: { min?: number; max?: number }): Range[];

/** What `createUploadClient` takes. */
export interface ClientOptions {
  /** The queue's directory; made when it is not there. Needed unless `sidecar` is given. */
  dir?: string;
  /**
   * Path of the sidecar's executable. Else the environment variable OUTTRAY_BINARY, else the package of this
   * platform (`@outtray/linux-x64`), else `outtray` on PATH. A path inside an Electron archive (`app.asar`)
   * is taken from `app.asar.unpacked`.
   */
  binary?: string;
  /** The whole environment of the sidecar; default: that of this process. */
  env?: Record<string, string | undefined>;
  /** More arguments of `outtray serve`. */
  args?: string[];
  /** Working directory of the sidecar. */
  cwd?: string;
  /**
   * Whether the sidecar goes on after `close`, and when this process has ended: false (default) stops
   * transfers and keeps all work; true goes on until nothing is running or queued; a number, at most so many
   * seconds. What it finishes is told at the next start.
   */
  background?: boolean | number;
  /**
   * Whether the machine is kept from going to sleep while requests are sent, by logind. Default false. Where
   * that is not to be had, `takeDiagnostics` says why and `stats` has `keepAwake: "unavailable"`.
   */
  keepAwake?: boolean;
  /**
   * For tests: the sidecar's clock stands still, and `advanceClock` alone moves it. Default false.
   */
  virtualClock?: boolean;
  /** Hears every warning, in place of `console.warn`. `configure` may set another. */
  onWarning?: (message: string, detail?: unknown) => void;
  /** The fake of `outtray/testing`, in place of a process. */
  sidecar?: FakeSidecar;
}

/** The HTTP request of an entry, as `request` returns it. At most one of `data`, `form` and `file`. */
export interface Descriptor {
  /** http or https. Needed unless `parts` is set. */
  url?: string;
  /** Default POST. With parts it is that of every part. A GET has no body. */
  method?: Method;
  /** Laid over those of `configure`, names matched without regard to case. */
  headers?: Headers;
  /** JSON body, any value that can be serialised. null sends `null`; leave it out for no body. */
  data?: unknown;
  /** multipart/form-data body, at least one field. Files are copied. */
  form?: readonly (
    | { name: string; contentType: string; string: string; path?: undefined; fileName?: undefined }
    | { name: string; contentType: string; path: string; fileName?: string; string?: undefined })[];
  /** Absolute path or file:// URL of a file that is the body. Copied, or moved with parts; see `staging`. */
  file?: string;
  /** Sends `file` as these requests; their ranges tile it from 0. */
  parts?: readonly Part[];
  /** Answers outside 2xx that count as success. */
  accept?: readonly AcceptRule[];
  /**
   * Epoch milliseconds; an entry that is still live then settles with `expired`. Default: now + lifetimeMs.
   */
  expiresAt?: number;
  /** Each field given replaces that of `configure`. */
  retry?: Retry;
  /**
   * true waits for an unmetered network before each attempt, false never waits; absent follows `setWifiOnly`.
   */
  wifiOnly?: boolean;
  /** Default normal. One of the slots for attempts is kept for high. */
  priority?: 'high' | 'normal';
  /** Time limits of one attempt, in milliseconds. */
  timeouts?: TimeoutLayer;
  /**
   * The Idempotency-Key of POST and PATCH, or false for none. Default: one that stays while the body stays.
   */
  idempotencyKey?: false | string;
  /** How files come into the queue: copy (default), move (default with parts), reference. */
  staging?: 'copy' | 'move' | 'reference';
  /**
   * true lets one bound value be the whole `url`, with its origin: an absolute http(s) URL from an answer.
   * Credentials go where it says, so take it only from a server that you trust.
   */
  boundOrigin?: boolean;
}

/** The server's answer, as the sidecar kept it. */
export interface RawResponse {
  /** Absent for an entry in parts. */
  status?: number;
  /** Names in lower case. */
  headers?: { readonly [name: string]: string };
  /** Decoded, at most 1 MiB, cut at a character. */
  body?: string;
  /** In place of `body` when its bytes are no UTF-8. */
  bodyBase64?: string;
  /** Whether the server sent more than is here. */
  bodyTruncated: boolean;
}

/** About the outcome that a handler gets. */
export interface Meta {
  id: string;
  key: string;
  /** Epoch milliseconds at which the entry settled. */
  at: number;
  /** Attempts that were sent in this life of the entry. */
  attempts: number;
  /** X-Request-Id of the last attempt; absent when there was none. */
  requestId?: string;
  /** How often this outcome was sent to a client, over all starts; 1 the first time. */
  deliveries: number;
  /** The group that the entry belongs to; absent for none. */
  group?: string;
}

/** What `onError` gets. Kinds that are not listed may come. */
export interface OutcomeError {
  /**
   * http: an answer that is final. network: no answer. file: a body cannot be read. expired: too late.
   * dependency: what it waited for failed, or gave no value for `bind`; nothing was sent. truncated: the
   * server accepted, but its answer is too long for `response`. unknown: it accepted, but `response` could
   * not read it.
   */
  errorKind:
    'http' | 'network' | 'file' | 'expired' | 'dependency' | 'truncated' | 'unknown' | (string & {});
  /** For people; holds no header value, query string or body byte. */
  message: string;
  /** The answer, when there was one. */
  response?: RawResponse;
  /** Which part decided, from 0. */
  partIndex?: number;
  /** What `response` threw. */
  cause?: unknown;
}

/** What became of a `mutate`. */
export interface Mutation {
  id: string;
  /** Which life of the entry this is, from 1. */
  generation: number;
  /** kept: it has completed and was acknowledged, its row is there for others; nothing happens (rule D42). */
  disposition: Enqueued['disposition'];
}

/**
 * What `configure` takes. The first eight are kept by the sidecar: absent ones stay, null goes back to the
 * default.
 */
export interface Configuration {
  /** Distance of the default `expiresAt`, milliseconds. Default 14 days. */
  lifetimeMs?: number | null;
  retry?: Retry | null;
  concurrency?: Concurrency | null;
  bandwidth?: Bandwidth | null;
  timeouts?: Timeouts | null;
  tls?: TLS | null;
  proxy?: string | null;
  http2?: boolean | null;
  /** Called at each `mutate`; the descriptor's headers are laid over these. */
  headers?: () => Headers;
  /** Most bytes of JSON that vars may have. Default 1 MiB. */
  maxVarsBytes?: number;
  /** After so many milliseconds without an answer `mutate` warns. Default 10,000. */
  enqueueTimeoutMs?: number;
  /** Hears every warning from now on. */
  onWarning?: (message: string, detail?: unknown) => void;
}

/** Whatever JSON can hold, as it is read back. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** An entry as it stands. */
export interface RequestRow extends Omit<Row, 'vars' | 'state'> {
  vars: Json;
  /** States that are not listed may come. */
  state: State | (string & {});
  /** `unhandled-key`: its outcome came, and no definition has its key. Only in state events. */
  reason?: 'unhandled-key';
}

/** What each event tells; `resync` tells nothing. */
export interface ClientEvents {
  /** One transition of an entry; merging rows by id is all that a view needs. */
  state: RequestRow;
  /** Bytes of a running entry. */
  progress: Progress;
  /** One HTTP request and what came of it. */
  attempt: Attempt;
  /** A group whose members changed; at most one per group and 250 ms, and the last always. */
  group: GroupStatus;
  /**
   * State events were lost to this slow reader. All rows follow as `state`; one that `events()` gave
   * because you read it slowly is followed by none: read `getRequests`.
   */
  resync: undefined;
}

/** One event of `events()`. */
export type ClientEvent<Name extends keyof ClientEvents = keyof ClientEvents> = {
  [Each in Name]: { event: Each; detail: ClientEvents[Each] };
}[Name];

/** Who answers: what the sidecar says of itself. */
export interface Server {
  protocolVersion: number;
  server: { name: string; version: string };
  /** Process id of the sidecar that owns the queue. */
  pid: number;
  /** Absolute path of the queue's directory. */
  dir: string;
  /** attached: another process owns the queue, this one relays to it. */
  role: 'owner' | 'attached';
  capabilities: readonly string[];
  limits: ServerLimits;
}

/** A client of one queue. */
export interface UploadClient {
  /**
   * Defines a kind of request. vars are typed by `request`, the data of `onSuccess` by `response`. A key that
   * is defined again is replaced, with a warning.
   * @throws {ClientError} `E_INVALID`: an empty key, or no `request`
   */
  define<Vars extends VarsLimit = null, Names extends string = never>(
    definition: RawDefinition<Vars, Names>): Definition<Vars, Names>;
  define<Vars extends VarsLimit = null, Parsed = unknown, Names extends string = never>(
    definition: ParsedDefinition<Vars, Parsed, Names>): Definition<Vars, Names>;

  /**
   * Begins a pipeline: requests that depend on each other and are enqueued together. The options count for
   * each step that does not say otherwise.
   * @throws {ClientError} `E_INVALID`, naming the option
   */
  pipeline(options?: Together): Pipeline;

  /**
   * Hears of each group whose members have all settled, also one of an earlier run. Delivered like an
   * outcome: one at a time per group and after the handlers of its members, acknowledged once the handler's
   * promise has resolved, released with a warning when it fails, and possibly twice. There is one handler; a
   * further one takes its place, with a warning. Call it before `configure`: an outcome of a group that comes
   * while there is no handler is acknowledged in silence, so that groups can be used without one.
   * @throws {ClientError} `E_INVALID`: no function
   */
  onGroupSettled(handler: (outcome: GroupOutcome) => unknown): void;

  /**
   * Call it once at start, behind every `define`: outcomes come from then on, those that waited first. A
   * further call changes settings and replays nothing. The promise need not be awaited; a failure is a
   * warning as well.
   * @throws {ClientError} `E_INVALID` at once, naming the option
   */
  configure(options?: Configuration): Promise<void>;

  /** Holds back the whole queue, or what has some keys or groups, present and future. Kept over restarts. */
  pause(scope?: Scope): Promise<void>;
  /** Ends a pause of the same scope. */
  resume(scope?: Scope): Promise<void>;

  /** Settles a live entry as cancelled, forgets a settled one. An id that is not there resolves. */
  cancel(id: string): Promise<void>;
  /**
   * Settles the live members of a group as cancelled. A group that has none is forgotten, with its members
   * and the outcomes that are not acknowledged (rule D48).
   */
  cancelGroup(group: string): Promise<void>;

  /**
   * Tries an entry now: ends its backoff, lets it go once when it is parked, reopens it after an error. What
   * runs or is due is left alone, pauses and Wi-Fi still hold it back (rule D44).
   * @throws {CallError} `E_INVALID` for an id that is not there, completed or cancelled
   */
  retry(id: string): Promise<RequestRow>;

  /** Whether entries without their own `wifiOnly` wait for an unmetered network. Kept over restarts. */
  setWifiOnly(wifiOnly: boolean): Promise<void>;

  /** Says what network there is, in place of what the sidecar detects, as long as this client lives. */
  setNetwork(network: {
    type: 'auto' | 'wifi' | 'ethernet' | 'cellular' | 'none'; metered?: boolean;
  }): Promise<void>;

  /** Lays headers over those of every entry, or of some, and lets those parked on 401 and 403 go on. */
  updateHeaders(headers: Headers, limits?: { keys?: readonly string[]; origin?: string }): Promise<void>;

  /** The entries in order of their creation, all pages of them. */
  getRequests(
    filter?: { key?: string; id?: string; state?: State; group?: string }): Promise<RequestRow[]>;

  /** What the sidecar noticed since the last call, oldest first; clears it. */
  takeDiagnostics(): Promise<DiagnosticRecord[]>;

  /** Everything that holds an entry back now. */
  explain(id: string): Promise<Explanation>;
  /**
   * The same for the live members of a group, the first 100, with the group's counts and progress.
   * @throws {CallError} `E_INVALID`: there is no such group
   */
  explainGroup(group: string): Promise<GroupExplanation>;

  /** Counters and gauges of the sidecar. */
  stats(): Promise<Stats>;

  /** Shows that the sidecar answers, and starts it when it does not run. */
  ping(): Promise<{ now: number }>;

  /**
   * With `virtualClock`: moves the sidecar's clock by `ms` milliseconds and resolves once what is due by
   * then has begun or settled.
   * @throws {CallError} `E_METHOD`: the clock is the machine's
   */
  advanceClock(ms: number): Promise<{ now: number }>;

  /** Who answers; starts the sidecar when it does not run. */
  server(): Promise<Server>;

  /** Asks again for the outcomes that no handler took, without a restart. */
  redeliver(): Promise<void>;

  /**
   * Hears an event from `configure` on; each call is a listener of its own. `resync` is called without
   * arguments.
   * @throws {TypeError} no event has this name
   */
  addListener<Name extends keyof ClientEvents>(
    event: Name, listener: (detail: ClientEvents[Name]) => unknown): { remove(): void };

  /**
   * Events for `for await`, all of them or those named, until `close`. A reader that is slow gets the newest
   * state and progress of each id, for at most 1,024 ids.
   */
  events<Name extends keyof ClientEvents = keyof ClientEvents>(
    ...names: Name[]): AsyncIterableIterator<ClientEvent<Name>>;

  /** Same as the function `chunkPlan`. */
  chunkPlan(size: number, limits?: { min?: number; max?: number }): Range[];

  /**
   * Waits for handlers that run, at most 5 s, then ends the sidecar and resolves once it is gone: the end of
   * its stdin, after 7 s SIGTERM, after 3 s more SIGKILL. Accepted work is kept. One that serves other hosts
   * too goes on for them without a signal; this resolves 1.5 s after it has let this host go.
   *
   * With `background` the sidecar gets no signal: once the calls that were made are answered, within about
   * 2 s, this resolves, and the sidecar goes on alone. One that has nothing to do is gone by then.
   */
  close(): Promise<void>;
  /** Same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}
