import type {
  Attempt, DiagnosticRecord, GroupSettled, GroupStatus, Progress, Settled,
} from './protocol.js';
import type { OutcomeError, RawResponse, RequestRow } from './index.js';

/**
 * Makes a sidecar without a process, for the tests of an app: `createUploadClient({ sidecar:
 * createFakeSidecar() })`. The client's own validation, header merge and delivery run on top of it. It keeps
 * rows and a journal and sends no HTTP; it does not model the rules of equal ids, deadlines, or
 * `updateHeaders` beyond the end of `awaiting-auth`. Pipelines are real: what waits, for what, and in which
 * lane, the values that are bound, and the ends of groups.
 */
export declare function createFakeSidecar(options?: {
  /** How long `settle` waits for the acknowledgement, milliseconds. Default 2000. */
  ackTimeoutMs?: number;
}): FakeSidecar;

/** Members of an outcome that are to be as given; the others follow from the entry. */
export interface OutcomeGiven extends Partial<Omit<Settled, 'kind' | 'response' | 'error'>> {
  /** Default completed. */
  kind?: 'completed' | 'error' | 'cancelled' | (string & {});
  response?: Partial<RawResponse>;
  error?: Partial<OutcomeError>;
}

/** An enqueue as the sidecar would have read it. */
export interface FakeEntry {
  id: string;
  key: string;
  vars: unknown;
  request: { readonly [name: string]: any };
}

/** A sidecar for tests. */
export interface FakeSidecar {
  /** Every enqueue, those of pipelines too, with vars and data parsed from what was sent. */
  readonly entries: readonly FakeEntry[];
  /** Every call of the client, in order. */
  readonly calls: readonly { method: string; params: any }[];
  /** Copies of the rows. */
  readonly rows: readonly RequestRow[];
  /** Copies of the outcomes that nobody acknowledged. */
  readonly unacknowledged: readonly Settled[];
  /** The same for the outcomes of groups. */
  readonly unacknowledgedGroups: readonly GroupSettled[];
  readonly ackedEventIds: readonly string[];
  readonly releasedEventIds: readonly string[];
  /** Whether a client asked for events, which `configure` does. */
  readonly isSubscribed: boolean;

  /**
   * Settles an entry: journals the outcome, moves the row, delivers. Resolves once the client acknowledged
   * it, and what ended with it: entries that wait for it and settle too, and their group where the client
   * listens to groups. Rejects when one is released, or when nothing comes within `ackTimeoutMs`; for an
   * unknown id; and for an entry that cannot have been sent, since it waits for others or its turn.
   *
   * Bound values come from `response.body`, a text, and `response.headers`, names in lower case.
   */
  settle(id: string, outcome?: OutcomeGiven): Promise<void>;
  /** The outcome that `settle` would deliver. An unknown id throws. */
  buildSettled(id: string, outcome?: OutcomeGiven): Settled;
  /**
   * The request of an entry as it would be sent, with the values that `bind` took from earlier answers. An
   * unknown id throws, and an entry that still waits.
   */
  requestOf(id: string): FakeEntry['request'];
  /** Events as the sidecar sends them, to a client that is subscribed. */
  readonly emit: {
    state(row: RequestRow): void;
    progress(progress: Progress): void;
    attempt(attempt: Attempt): void;
    settled(outcome: OutcomeGiven): void;
    group(status: GroupStatus): void;
    groupSettled(outcome: GroupSettled): void;
    resync(): void;
  };

  /** The next call of this method is refused with this code (default `E_STORAGE`). */
  failNext(method: string, code?: string, message?: string): void;
  /**
   * The next call of this method, and those behind it, wait until the function that is returned is called.
   */
  holdNext(method: string): () => void;
  /**
   * The process dies: held calls fail, the subscription is gone, the next call finds a new one. Rows and
   * journal stay.
   */
  crash(exit?: { exitCode?: number | null; signal?: string | null; stderr?: string }): void;

  /** Rows of an earlier session. */
  seedRows(rows: readonly (Partial<RequestRow> & { id: string })[]): void;
  /** Outcomes of an earlier session; `configure` replays them. */
  seedUnacknowledged(outcomes: readonly OutcomeGiven[]): void;
  /** Records for `takeDiagnostics`. */
  seedDiagnostics(records: readonly DiagnosticRecord[]): void;
  /**
   * Forgets rows, journal, pauses, records, held calls and failures, and resolves what `settle` waits for.
   */
  reset(): void;
}
