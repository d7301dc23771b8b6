import type { ThreadLog } from "./thread-log.ts";

type Method = {
  [Name in keyof ThreadLog]-?: ThreadLog[Name] extends (...given: never) => unknown ? Name : never;
}[keyof ThreadLog];

/** Every method of the contract: with one missing here this does not compile. */
const METHODS: Readonly<Record<Method, "of the driver" | "of BaseThreadLog">> = {
  append: "of the driver",
  readTail: "of the driver",
  readCheckpoint: "of the driver",
  entry: "of the driver",
  tail: "of the driver",
  list: "of the driver",
  readRecords: "of the driver",
  remove: "of the driver",
  copy: "of the driver",
  classify: "of the driver",
  close: "of the driver",
  connect: "of BaseThreadLog",
  listThreads: "of BaseThreadLog",
  readThreads: "of BaseThreadLog",
  search: "of BaseThreadLog",
  catchUp: "of BaseThreadLog",
  queryMetadata: "of BaseThreadLog",
  subscribe: "of BaseThreadLog",
  now: "of BaseThreadLog",
  declined: "of BaseThreadLog",
  scrub: "of BaseThreadLog",
};

/** Refuses an incomplete driver when a checkpointer is made from it, not at the first save. */
export function assertThreadLog(value: unknown): asserts value is ThreadLog {
  const takes = "new Checkpointer(log) takes a ThreadLog driver";
  if (typeof value !== "object" || value === null) {
    throw new TypeError(`${takes}, not ${value === null ? "null" : `a ${typeof value}`}. ${INSTEAD}`);
  }
  const driver = value as Readonly<Record<string, unknown>>;
  const methods = Object.entries(METHODS);
  const missing = methods.filter(([name]) => typeof driver[name] !== "function");
  if (missing.length === methods.length) throw new TypeError(`${takes}, and this is another object. ${INSTEAD}`);
  if (missing.length > 0) {
    const isSupplied = missing.some(([, whose]) => whose === "of BaseThreadLog");
    const how = isSupplied ? ". A class that extends BaseThreadLog of holdfast/driver has those that are optional" : "";
    throw new TypeError(`${takes}; this one lacks ${missing.map(([name]) => name).join(", ")}${how}`);
  }
  if (typeof driver["capabilities"] !== "object" || driver["capabilities"] === null) {
    throw new TypeError(`${takes}; this one has no capabilities, which say what it promises`);
  }
}

const INSTEAD = "For a built-in backend use its factory, such as sqliteCheckpointer({ path })";
