import type { Descriptor, Meta, Mutation, OutcomeError, RawResponse } from './index.js';
import type { Bound, Given } from './pipeline.js';

/** Vars are an object, an array or null; anything else does not compile. */
export type VarsLimit = object | null;

/** What every definition has. */
export interface DefinitionOf<Vars extends VarsLimit, Names extends string = never> {
  /** Kept with every entry, 1 to 256 bytes; rename it with care. */
  key: string;
  /**
   * Describes the request. Runs once for each `mutate` and each step of a pipeline. `bound` has what `bind`
   * names; reading any other name throws `E_INVALID`.
   */
  request: (vars: Vars, bound: Bound<Names>) => Descriptor;
  /** Runs when the entry failed for good. Its outcome is acknowledged once its promise has resolved. */
  onError?: (error: OutcomeError, vars: Vars, meta: Meta) => unknown;
}

/** A kind of request without a parser: `onSuccess` gets the answer as it is. */
export interface RawDefinition<Vars extends VarsLimit, Names extends string = never>
  extends DefinitionOf<Vars, Names> {
  response?: undefined;
  /** Runs after the server accepted, possibly in a later process. Must bear to run twice for one outcome. */
  onSuccess?: (response: RawResponse, vars: Vars, meta: Meta) => unknown;
}

/** A kind of request with a parser: `onSuccess` gets what it returns. */
export interface ParsedDefinition<Vars extends VarsLimit, Parsed, Names extends string = never>
  extends DefinitionOf<Vars, Names> {
  /**
   * Reads the JSON of the answer, undefined when it is empty. What it throws goes to `onError` as `unknown`.
   */
  response: (raw: unknown, vars: Vars) => Parsed;
  /** Runs after the server accepted, possibly in a later process. Must bear to run twice for one outcome. */
  onSuccess?: (data: Parsed, vars: Vars, meta: Meta) => unknown;
}

/** What `define` gives back. */
export interface Definition<Vars extends VarsLimit, Names extends string = never> {
  readonly key: string;
  /**
   * Takes a request into the queue. Resolves when the entry and its body are on disk, never for the network;
   * copied files may be deleted then. Has no timeout; one warning comes after `enqueueTimeoutMs`.
   *
   * An `id` that exists resumes the same body, replaces another one, or brings a completed outcome again.
   * Repeating a call under the same id is always safe, also after `E_SIDECAR_EXITED`, whose `entryId` is the
   * id that was used.
   * @throws {ClientError} `E_INVALID`, `path` names the field; nothing was sent
   * @throws {CallError} `E_INVALID`, `E_RUNNING` (another body, and the entry is running),
   *   `E_FILE_MISSING`, `E_STORAGE`
   * @throws {SidecarExited} the process ended before it answered
   */
  readonly mutate: (...given: Given<Vars, Names>) => Promise<Mutation>;
}
