import type { Definition, VarsLimit } from './define.js';
import type { Mutation, RequestRow } from './index.js';
import type { GroupSettled } from './protocol.js';

/** Where a bound value comes from: a place in the body of an entry's answer, or one of its headers. */
export type Binding =
  | { entry: string; pointer: string; header?: undefined }
  | { entry: string; header: string; pointer?: undefined };

/** What `mutate` and `add` take: vars, and `bind` where `request` asks for names. */
export type Given<Vars extends VarsLimit, Names extends string = never> =
  [Names] extends [never]
    ? null extends Vars ? [vars?: Vars, options?: MutateOptions] : [vars: Vars, options?: MutateOptions]
    : [vars: Vars, options: MutateOptions & { bind: { readonly [Name in Names]: Binding } }];

/** What a pipeline gives to each of its steps, and a step or a `mutate` may say for itself. */
export interface Together {
  /**
   * Names entries that belong together, 1 to 256 bytes (rule D48): they are paused, cancelled, read and
   * explained by it, `group` events tell its progress, `onGroupSettled` its end.
   */
  group?: string;
  /** Entries of one lane run one at a time in the order in which they were accepted (rule D47). */
  lane?: string;
  /**
   * What it means when an entry that this one waits for fails or is cancelled: wait (default) goes on
   * waiting, since that one can be enqueued again; settle ends this one at once with `dependency` (rule D45).
   */
  onFailure?: 'wait' | 'settle';
  /** What the entry counts for in its group's progress, above 0 to 1e9. Default: the bytes of its body. */
  weight?: number;
  /** Milliseconds from its first attempt on after which the entry settles with `expired` (rule D49). */
  deadlineMs?: number;
  /** The same for the whole group, from the first attempt of any member on. Needs a group. */
  groupDeadlineMs?: number;
}

/** What `mutate` and a step take beside vars. */
export interface MutateOptions extends Together {
  /** Names the entry, 1 to 256 bytes. Default: a new UUID. */
  id?: string;
  /** Entries that must have completed before (rule D45): ids, or what has one, at most 1,000. */
  after?: readonly (string | { readonly id: string })[];
  /**
   * Values from the answers of earlier entries, by names of letters, digits and _, at most 64 (rule D46). The
   * entries count as in `after`. A step makes them: `step.pointer('/id')`, `step.header('Location')`.
   */
  bind?: { readonly [name: string]: Binding };
}

/** Requests that go into the queue together, all of them or none. Nothing is sent before `enqueue`. */
export interface Pipeline {
  /**
   * Adds one request. It takes what `mutate` takes; `request` runs and is checked at once. A member of its
   * options counts in place of that of the pipeline.
   * @throws {ClientError} `E_INVALID`: no definition of this client, an id that another step has, after
   *   `enqueue`, or what `mutate` refuses
   */
  add<Vars extends VarsLimit, Names extends string = never>(
    definition: Definition<Vars, Names>, ...given: Given<Vars, Names>): Step;
  /** The steps in the order in which they were added. */
  readonly steps: readonly Step[];
  /**
   * Takes every step into the queue by one call, all of them or none. Resolves when all are on disk. Handlers
   * run afterwards, as for any outcome. Repeating it is always safe, also after `E_SIDECAR_EXITED`: the steps
   * keep their ids.
   * @throws {ClientError} `E_INVALID`: there is no step
   * @throws {CallError} as for `mutate`; `path` begins with `entries[2]`, the third of `steps`
   * @throws {SidecarExited} the process ended before it answered
   */
  enqueue(): Promise<Map<Step, Accepted>>;
}

/** One request of a pipeline. */
export interface Step {
  /** The entry's id, also before it is enqueued. */
  readonly id: string;
  /** For `bind`: the value at this JSON Pointer (RFC 6901) in the body of its answer; '' is all of it. */
  pointer(pointer: string): Binding;
  /** For `bind`: this header of its answer, in any case. */
  header(name: string): Binding;
}

/** What became of a step. */
export interface Accepted extends Mutation {
  row: RequestRow;
}

/** A value from an earlier answer, in the place where it is used. */
export interface BoundValue {
  /** `{name}`, for url and header values; the value is percent-encoded in a url, so encode nothing here. */
  toString(): string;
  /** `{"$bind": name}`, for a place inside data; any JSON value, exactly as the server wrote it. */
  toJSON(): { $bind: string };
}

/**
 * What `request` gets as its second argument: a value for each name in `bind`. Annotate it to have the names
 * checked, `(vars: Vars, bound: Bound<'photo' | 'observation'>) => ...`; then `bind` must give exactly these.
 */
export type Bound<Names extends string = never> = { readonly [Name in Names]: BoundValue };

/** What the handler of `onGroupSettled` gets: how a group ended. It holds no answers. */
export type GroupOutcome = Omit<GroupSettled, 'eventId'>;

/** What a pause covers; keys and groups may come together. */
export type Scope =
  { keys: readonly string[]; groups?: readonly string[] } | { groups: readonly string[]; keys?: undefined };

