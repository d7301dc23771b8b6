import { posix } from "node:path";
import { readSource } from "./source-text.ts";

/** A file of the house: its path from the root, and what is in it. */
export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

const BASICS = ["errors", "internal"];
const DRIVER = [...BASICS, "driver"];
const CONTRACTS = [...DRIVER, "state", "checkpoint", "saver", "store", "models"];
const ABOVE_CONTRACTS = [...CONTRACTS, "agent", "conversation", "memory", "sealing", "session", "adapters", "wire"];

/**
 * Who may import whom. A room is a folder of src, or a file directly in it; it
 * may always import itself. Tests are free: they prove what the rooms promise.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  internal: ["errors"],
  driver: BASICS,
  state: BASICS,
  checkpoint: [...DRIVER, "state"],
  saver: [...DRIVER, "state", "checkpoint"],
  store: [...DRIVER, "state"],
  models: [...BASICS, "state"],
  wire: [...DRIVER, "state", "checkpoint", "store"],
  backends: [...DRIVER, "state", "checkpoint", "saver", "store"],
  providers: [...BASICS, "state", "models"],
  testing: CONTRACTS,
  agent: CONTRACTS,
  // Both plug into the agent by its ports; the agent knows neither.
  conversation: [...CONTRACTS, "agent"],
  memory: [...CONTRACTS, "agent"],
  // A layer above the contracts: the factory that opens a checkpointer hands it in.
  sealing: CONTRACTS,
  session: [...CONTRACTS, "sealing"],
  adapters: [...CONTRACTS, "agent", "memory"],
  wiring: [...ABOVE_CONTRACTS, "backends", "providers"],
  server: ABOVE_CONTRACTS,
  // Its page lies in a folder of its own, is built by itself, and shares nothing but the table of routes and types.
  studio: [...ABOVE_CONTRACTS, "server"],
  cli: [...ABOVE_CONTRACTS, "backends", "providers", "server", "studio", "testing", "wiring"],
  // Re-exports only: each file is what one subpath of the package shows.
  entry: [...ABOVE_CONTRACTS, "backends", "providers", "server", "testing", "wiring"],
  index: [...ABOVE_CONTRACTS, "backends", "providers", "wiring"],
};

/** Doors between folders that the table would close, each with its reason. */
const ALSO: Readonly<Record<string, readonly string[]>> = {
  // It is the other end of the protocol.
  "backends/http": ["wire"],
  // Features that act by the kind of a thread; loaded when a graph's thread is met.
  "checkpoint/graphs": ["saver"],
  // It takes a URL in place of a saver.
  "adapters/langgraph": ["backends"],
};

/**
 * The floors of a room, lowest first: its folders, and "." for the files directly in it. A file imports from its own
 * floor and from those below. A folder that is not listed is the room's topmost.
 */
const FLOORS: Readonly<Record<string, readonly string[]>> = {
  store: ["driver", "search", "key-value", "sql-store", "items", "writing", "."],
  sealing: ["parts", "keys", "."],
  server: ["request", "tenants", "."],
};

/** Rooms that are shelves: what stands on them side by side does not know of each other. */
const SHELVES = ["backends", "providers", "adapters"];
/** What a provider may stand on: most of them speak through one client's shape. */
const SHELF_COMMONS: Readonly<Record<string, string>> = { providers: "ai-sdk" };

/** Where a clock or chance may be asked, and why. Everywhere else it is handed in, so that a test can hold it still. */
const CLOCKS_AND_CHANCE: Readonly<Record<string, string>> = {
  "src/checkpoint/context.ts":
    "the default of the option `now`; counts the storage's clock on between two measurements",
  "src/saver/saver.ts": "ids that grow with time",
  "src/sealing/keys/keyring-options.ts": "the default of the option `now`",
  "src/sealing/sealed-copy.ts": "the age of leftovers",
  "src/server/request/rate-limiter.ts": "the default of its clock",
  "src/server/app.ts": "how long an answer about readiness is good for",
  "src/driver/call.ts": "spreads retries",
  "src/agent/run/only-writer.ts": "how long a run waits for another, and spreads those that begin again",
  "src/checkpoint/lease/lease.ts": "how long a caller waits for a lease, whatever its clock is set to",
  "src/agent/saving/session-storage.ts": "whether the process slept: no clock that a caller sets says so",
  "src/agent/saving/thread-session.ts": "how long a save is tried, and how long it takes",
  "src/agent/telemetry/telemetry.ts": "how long a call takes",
  "src/checkpoint/thread/thread.ts": "how long a call may lose against other writers",
  "src/checkpoint/signals/sending.ts": "senders wait at random, by what a request takes, for a run to save",
  "src/internal/concurrency.ts": "how long a wave took, and so how long to rest: nothing that is kept",
  "src/backends/postgres/sorting-words.ts":
    "when words are sorted into their index: the same once in a while for any number of processes",
  "src/driver/version-watch.ts": "how old a look at the versions of tables is",
  "src/backends/sqlite/database-file.ts":
    "a name for a new file, whether a folder was changed a moment ago, and how old a look is",
  "src/backends/sqlite/looking-database.ts": "whether a file was changed a moment ago, by the clock of the file system",
  "src/backends/sqlite/words-index.ts": "how long a batch holds the lock",
  "src/internal/time.ts": "how long the event loop has been kept from turning",
  "src/backends/dynamodb/log.ts": "the default of the option `now`",
  "src/backends/memory/log.ts": "the default of the option `now`",
  "src/backends/memory/store-driver.ts": "the default of the option `now`",
  "src/session/erasing-from.ts": "how long a look takes, and for how long writers are chased",
  "src/store/writing/updating.ts": "how long an update may lose against other writers",
  "src/store/writing/first-vectors.ts": "a pause of random length, so that racing writers do not collide again",
  "src/backends/file/undisturbed.ts": "spreads retries",
  "src/backends/file/root.ts": "the age of leftovers, which the file system stamps",
  "src/backends/file/staging.ts": "the age of leftovers, which the file system stamps",
  "src/backends/sqlite/store-opening.ts": "the default of the option `now`",
  "src/backends/file/store.ts": "the default of the option `now`",
  "src/driver/server-clock.ts": "counts a server's clock on between two answers",
  "src/store/key-value/item-writer.ts": "a pause of random length, so that racing writers do not collide again",
  "src/backends/sqlite/connection.ts":
    "the busy timeout, how long one transaction may last, spreads retries, and lets the event loop turn in time",
  "src/backends/sqlite/erasure.ts": "the pause between two attempts at cutting the write-ahead log off",
  "src/testing/manual-clock.ts": "the clock of a subject that has none of its own",
  "src/models/retrying-model.ts": "the default of the option `random`",
  "src/wiring/personal-data.ts": "the default of the option `now`",
  "src/agent/fixed-parts.ts": "the default of the option `now`",
  "src/cli/main.ts": "the clock of the command line",
  "src/cli/doctor/latency.ts": "how long calls take",
  "src/studio/page/wording.ts": "how long ago something was, by the viewer's clock",
  "src/wiring/llm-memory-manager.ts": "the default of the option `now`",
  "src/providers/ai-sdk/classify.ts": "turns a Retry-After date into a pause",
  "src/providers/oci/signing-fetch.ts": "the date that a request is signed with",
};

/** A folder is read in a sitting. Tests beside the sources do not count. */
const MOST_SOURCES = 15;

/** Folders that hold more, and why. */
const FULLER: Readonly<Record<string, string>> = {
  "src/entry": "one file of re-exports for each subpath",
  ...Object.fromEntries(
    [
      ...["agent/run", "conversation", "driver", "memory", "studio/answers", "testing", "wire"],
      ...["testing/checkpointer-cases", "testing/thread-log-cases"],
      ...["file", "opensearch", "oracle", "postgres", "redis", "sqlite"].map((name) => `backends/${name}`),
    ].map((name) => [`src/${name}`, "still to be divided"]),
  ),
};

const BANNED_STEMS = /^(?:utils?|helpers?|common|misc|shared|base|managers?|lib|stuff)$|-(?:utils?|helpers?)$/;

/** Every broken rule, as a sentence that names the file and what is wrong. */
export function violationsIn(files: readonly SourceFile[]): readonly string[] {
  return [
    ...files.flatMap((file) => [...inAnyFile(file), ...(isTest(file.path) ? [] : inSource(file))]),
    ...inFolders(files),
  ];
}

const isTest = (path: string): boolean => path.endsWith(".test.ts") || path.endsWith(".test-d.ts");

function* inAnyFile({ path }: SourceFile): Generator<string> {
  const stem = posix.basename(path).replace(/\..*$/, "");
  if (BANNED_STEMS.test(stem)) yield `${path}: "${stem}" says nothing; name the file after what is in it`;
}

function* inSource({ path, text }: SourceFile): Generator<string> {
  const { code, imports } = readSource(text);
  if (/\bexport\s+default\b|\bas\s+default\b/.test(code)) yield `${path} has a default export; export a name`;
  if (/(?<![.\w])any(?!\w)/.test(code)) yield `${path} uses any; say what it is, or unknown`;
  if (/[\w)\]]!(?!=)/.test(code)) yield `${path} asserts with "!"; handle the case or prove it`;
  if (/@ts-(?:ignore|nocheck|expect-error)/.test(text)) yield `${path} silences the compiler`;
  if (
    /\bDate\.now\b|\bnew Date\(\s*\)|\bMath\.random\b|\bperformance\.now\b/.test(code) &&
    !Object.hasOwn(CLOCKS_AND_CHANCE, path)
  ) {
    yield `${path} asks a clock or chance itself; take it as an option, or list it with its reason`;
  }
  for (const specifier of imports) {
    const fault = faultInImport(path, specifier);
    if (fault !== undefined) yield `${path} ${fault}: ${specifier}`;
  }
}

function faultInImport(path: string, specifier: string): string | undefined {
  if (!specifier.startsWith("."))
    return specifier.startsWith("holdfast") ? "imports the package by its name" : undefined;
  if (!specifier.endsWith(".ts")) return "imports without the ending .ts";
  const target = posix.join(posix.dirname(path), specifier);
  if (isTest(target)) return "imports a test";
  if (!target.startsWith("src/")) return "reaches out of src";
  const [from, to] = [roomOf(path), roomOf(target)];
  const allowed = MAY_IMPORT[from.room];
  if (allowed === undefined) return `stands in the room "${from.room}", which the import table does not know`;
  if (from.room === to.room) return faultOnFloors(from, to) ?? faultOnShelf(from, to, target);
  const doors = ALSO[`${from.room}/${from.place}`] ?? [];
  return allowed.includes(to.room) || doors.includes(to.room) ? undefined : `(${from.room}) may not import ${to.room}`;
}

function faultOnFloors(from: Place, to: Place): string | undefined {
  const floors = FLOORS[from.room];
  if (floors === undefined || from.place === to.place) return undefined;
  const height = ({ place }: Place): number => {
    const floor = floors.indexOf(place === "" ? "." : place);
    return floor < 0 ? floors.length : floor;
  };
  return height(to) < height(from) ? undefined : `stands below ${to.room}/${to.place}, which may import it instead`;
}

function faultOnShelf(from: Place, to: Place, target: string): string | undefined {
  if (!SHELVES.includes(from.room) || from.place === to.place || to.place === "") return undefined;
  if (SHELF_COMMONS[from.room] === to.place) return undefined;
  if (from.place !== "") return `reaches into another of the ${from.room}`;
  return /\/(?:index|checkpointer|saver|store|store-opening|tables)\.ts$/.test(target)
    ? undefined
    : "reaches behind the doors index.ts, checkpointer.ts, saver.ts, store.ts, store-opening.ts and tables.ts";
}

interface Place {
  readonly room: string;
  /** The folder inside the room; empty directly in it. */
  readonly place: string;
}

function roomOf(path: string): Place {
  const [, room = "", place = "", ...rest] = path.split("/");
  if (place === "") return { room: room.replace(/\.ts$/, ""), place: "" };
  return { room, place: rest.length === 0 ? "" : place };
}

function* inFolders(files: readonly SourceFile[]): Generator<string> {
  const paths = new Set(files.map(({ path }) => path));
  const backends = new Set([...paths].flatMap((path) => /^src\/backends\/[^/]+(?=\/)/.exec(path) ?? []));
  for (const folder of backends) {
    for (const name of ["index.ts", "checkpointer.ts", "log.ts", "conformance.test.ts"]) {
      if (!paths.has(`${folder}/${name}`)) yield `${folder} has no ${name}`;
    }
  }
  const sources = new Map<string, number>();
  for (const path of paths) {
    if (!isTest(path)) sources.set(posix.dirname(path), (sources.get(posix.dirname(path)) ?? 0) + 1);
  }
  for (const [folder, count] of sources) {
    if (count > MOST_SOURCES && !Object.hasOwn(FULLER, folder)) {
      yield `${folder} has ${count} sources; at most ${MOST_SOURCES}: merge what is one idea, or divide it`;
    }
  }
  for (const listed of Object.keys(CLOCKS_AND_CHANCE)) {
    const file = files.find(({ path }) => path === listed);
    if (file !== undefined && !/Date|Math\.random|performance/.test(file.text)) {
      yield `${listed} is listed as asking a clock or chance, and does not`;
    }
  }
}
