import { StateError } from "../errors.ts";
import { described, unknownOption } from "../internal/known-options.ts";
import type {
  CheckpointRef,
  FindOptions,
  ForkOptions,
  ListThreadsOptions,
  PageOptions,
  SaveOptions,
  ThreadSearchHit,
  VacuumOptions,
} from "./base-checkpointer.ts";
import type { LeaseOptions } from "./lease.ts";
import type { WatchOptions } from "./watching.ts";

type Kind = "string" | "number" | "boolean" | "object" | "function";

const SHARED: Readonly<Record<string, Kind>> = {
  stateSchema: "object",
  retry: "object",
  now: "function",
  durability: "string",
};

/** Refuses an option that does not exist: a misspelt one must not be ignored in silence. */
export function assertOptions(factory: string, options: object, own: Readonly<Record<string, Kind>>): void {
  if (typeof options !== "object" || options === null) throw new TypeError(`${factory}() takes an options object`);
  const known = { ...own, ...SHARED };
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(known, name) ? known[name] : undefined;
    if (kind === undefined) throw unknownOption(`${factory}()`, name, Object.keys(known));
    if (value !== undefined && typeof value !== kind) {
      throw new StateError("INVALID_ARGUMENT", `${factory}(): ${name} must be a ${kind}, not a ${typeof value}`);
    }
  }
}

/** The names of a method's options: all of them, or it does not compile. */
type Names<Options> = Readonly<Record<keyof Options & string, true>>;

/**
 * What a method was given in the place of its options, as options. Anything but
 * an object of known names is refused: an option that is ignored in silence is
 * a checkpoint that is not the one that was asked for.
 */
export function optionsOf<Options extends object>(
  method: string,
  given: Options | undefined,
  names: Names<Options>,
): Options {
  if (given === undefined) return {} as Options;
  const known = Object.keys(names);
  if (!isPlainObject(given)) {
    const takes = `${method}() takes its options as an object`;
    throw invalid(`${takes}, such as { ${known.slice(0, 2).join(", ")} }, not ${described(given)}`);
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(names, name)) throw unknownOption(`${method}()`, name, known);
  }
  return given;
}

/** A checkpoint id by itself is the option it usually is, `load(id, "c1")`, and so is the id in a summary, `load(id, summary)`. */
export function refOf(method: string, given: string | CheckpointRef | undefined): CheckpointRef {
  if (typeof given === "string") return { checkpointId: given };
  return isPlainObject(given) && typeof given?.checkpointId === "string"
    ? optionsOf<CheckpointRef>(method, given, SUMMARY)
    : optionsOf<CheckpointRef>(method, given, REF);
}

/** So is a number, where a page is asked for: `listCheckpoints(id, 10)`. */
export const pageOptionsOf = (method: string, given: number | PageOptions | undefined): PageOptions =>
  typeof given === "number" ? { limit: given } : optionsOf<PageOptions>(method, given, PAGE);

/** As in `save(state, id, "c1", { tag: 1 })`. */
export function saveOptionsOf(
  given: string | SaveOptions | undefined,
  metadata: Readonly<Record<string, unknown>> | undefined,
): SaveOptions {
  const options = typeof given === "string" ? { checkpointId: given } : optionsOf<SaveOptions>("save", given, SAVE);
  if (metadata === undefined) return options;
  if (options.metadata !== undefined) throw invalid("save() was given metadata twice: in its options and after them");
  return { ...options, metadata };
}

const REF: Names<CheckpointRef> = { checkpointId: true };
const SUMMARY: Names<ThreadSearchHit> = {
  ...REF,
  threadId: true,
  createdAt: true,
  parentId: true,
  messageCount: true,
  metadata: true,
  bytes: true,
  seq: true,
  score: true,
};
const PAGE: Names<PageOptions> = { limit: true, cursor: true };
const SAVE: Names<SaveOptions> = {
  checkpointId: true,
  metadata: true,
  expectedHead: true,
  writeId: true,
  lease: true,
  ttlSeconds: true,
};
export const FIND: Names<FindOptions> = { ...PAGE, threadPrefix: true };
export const LIST_THREADS: Names<ListThreadsOptions> = { ...PAGE, pattern: true };
export const VACUUM: Names<VacuumOptions> = { olderThanDays: true, keepLast: true, dryRun: true };
export const FORK: Names<ForkOptions> = { at: true };
export const LEASE: Names<LeaseOptions> = { owner: true, ttlMs: true, waitMs: true, signal: true };
export const WATCH: Names<WatchOptions> = { signal: true, pollMs: true };

/** Of this realm or another one. */
function isPlainObject(given: unknown): boolean {
  if (typeof given !== "object" || given === null || Array.isArray(given)) return false;
  const prototype: unknown = Object.getPrototypeOf(given);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

const invalid = (message: string): StateError => new StateError("INVALID_ARGUMENT", message);
