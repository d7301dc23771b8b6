import type { ThreadLog } from "./thread-log.ts";

const METHODS = [
  "append",
  "readTail",
  "readCheckpoint",
  "entry",
  "tail",
  "list",
  "remove",
  "copy",
  "listThreads",
  "classify",
  "close",
] as const satisfies readonly (keyof ThreadLog)[];

/** Refuses an incomplete driver when a checkpointer is made from it, not at the first save. */
export function assertThreadLog(value: unknown): asserts value is ThreadLog {
  const takes = "new Checkpointer(log) takes a ThreadLog driver";
  if (typeof value !== "object" || value === null) {
    throw new TypeError(`${takes}, not ${value === null ? "null" : `a ${typeof value}`}. ${INSTEAD}`);
  }
  const driver = value as Readonly<Record<string, unknown>>;
  const missing = METHODS.filter((name) => typeof driver[name] !== "function");
  if (missing.length === METHODS.length) throw new TypeError(`${takes}, and this is another object. ${INSTEAD}`);
  if (missing.length > 0) throw new TypeError(`${takes}; this one lacks ${missing.join(", ")}`);
  if (typeof driver["capabilities"] !== "object" || driver["capabilities"] === null) {
    throw new TypeError(`${takes}; this one has no capabilities, which say what it promises`);
  }
}

const INSTEAD = "For a built-in backend use its factory, such as sqliteCheckpointer({ path })";
