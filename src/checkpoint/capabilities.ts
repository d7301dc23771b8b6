import type { Access } from "../driver/access.ts";
import type { Durability } from "../driver/durability.ts";
import type { ThreadLog } from "./log/thread-log.ts";

/**
 * What a checkpointer can do. True means that it works; false means that the call
 * throws `UNSUPPORTED` with the name of the flag. With `access: "read"`
 * everything that writes is false, and throws `PERMISSION_DENIED` with the name
 * of that option.
 */
export interface CheckpointerCapabilities {
  /** `search()`: full text over every stored checkpoint. */
  readonly search: boolean;
  /** `queryByMetadata()`. */
  readonly metadataQuery: boolean;
  /** `vacuum()`. */
  readonly vacuum: boolean;
  /** `copyThread()` and `fork()`. */
  readonly branching: boolean;
  /** `ttlSeconds`: threads that expire by themselves. */
  readonly ttl: boolean;
  /** `listThreads()`. */
  readonly listThreads: boolean;
  /** `listWithMetadata()`. */
  readonly listWithMetadata: boolean;
  /** Checkpoint ids are still valid after a restart of the process. */
  readonly persistentCheckpointIds: boolean;
  /** `save()` refuses if the thread moved on: two writers cannot overwrite each other. */
  readonly conditionalSave: boolean;
  /** Earlier checkpoints can be listed, loaded, diffed. */
  readonly history: boolean;
  /** `withLease()`. */
  readonly lease: boolean;
  /** `watch()`. */
  readonly watch: boolean;
  /** Whether search uses an index or reads every thread. */
  readonly searchMethod: "index" | "scan" | "none";
  /**
   * How many hits a search ranks at most; left out where it ranks any number. Of more it shows the newest first, and
   * `page.order` says so.
   */
  readonly searchRanksUpTo?: number;
  /**
   * Whether what is stored is sealed. "all": searches and queries by metadata read every thread. "except index": words
   * and metadata that are about no person lie in plain, where an index finds them; what is about people it does not
   * find.
   */
  readonly sealing: "none" | "all" | "except index";
  /** What a returned save survives. */
  readonly durability: Durability;
  readonly limits: { readonly maxRecordBytes: number };
}

/** The flags of a custom backend before it declares any. */
export const NO_CAPABILITIES: CheckpointerCapabilities = Object.freeze({
  search: false,
  metadataQuery: false,
  vacuum: false,
  branching: false,
  ttl: false,
  listThreads: false,
  listWithMetadata: false,
  persistentCheckpointIds: false,
  conditionalSave: false,
  history: false,
  lease: false,
  watch: false,
  searchMethod: "none",
  sealing: "none",
  durability: "memory",
  limits: Object.freeze({ maxRecordBytes: Number.POSITIVE_INFINITY }),
});

/** The boolean flags, in the order of the tables. */
export type CapabilityFlag = {
  [Name in keyof CheckpointerCapabilities]-?: CheckpointerCapabilities[Name] extends boolean ? Name : never;
}[keyof CheckpointerCapabilities];

export const CAPABILITY_FLAGS: readonly CapabilityFlag[] = [
  "search",
  "metadataQuery",
  "vacuum",
  "branching",
  "ttl",
  "listThreads",
  "listWithMetadata",
  "persistentCheckpointIds",
  "conditionalSave",
  "history",
  "lease",
  "watch",
];

/** Every flag is false unless it is named. */
export const capabilities = (advertised: Partial<CheckpointerCapabilities>): CheckpointerCapabilities =>
  Object.freeze({ ...NO_CAPABILITIES, ...advertised });

/** The capabilities of a checkpointer over this driver. */
export function capabilitiesOf(log: ThreadLog, access: Access): CheckpointerCapabilities {
  const mayWrite = access === "write";
  const { durability, conditionalAppend, listThreads, ttl, maxRecordBytes, search, ranksUpTo } = log.capabilities;
  return Object.freeze({
    search: listThreads,
    metadataQuery: listThreads,
    vacuum: listThreads && mayWrite,
    branching: mayWrite,
    ttl: ttl && mayWrite,
    listThreads,
    listWithMetadata: listThreads,
    persistentCheckpointIds: durability !== "memory",
    conditionalSave: conditionalAppend && mayWrite,
    history: true,
    lease: conditionalAppend && mayWrite,
    watch: true,
    searchMethod: listThreads ? (search === undefined ? "scan" : "index") : "none",
    ...(search !== undefined && ranksUpTo !== undefined && { searchRanksUpTo: ranksUpTo }),
    sealing: log.capabilities.sealing ?? "none",
    durability,
    limits: Object.freeze({ maxRecordBytes }),
  });
}
