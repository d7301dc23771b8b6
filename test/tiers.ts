/**
 * Which tests belong to which command. What is not named here belongs to `npm test`: three minutes on two quiet cores,
 * on a machine with Node and npm alone. A file may be of several tiers: one that compares storages runs on the embedded
 * ones in `npm test` and on real servers in `npm run test:servers`.
 */
import { readdirSync } from "node:fs";

/** `npm test` holds the driver of PostgreSQL to its suite, on the server of the npm package; the rest is for the servers' tier. */
const POSTGRES_BUT_ITS_SUITE: readonly string[] = readdirSync(new URL("../src/backends/postgres/", import.meta.url))
  .filter((name) => name.endsWith(".test.ts") && name !== "conformance.test.ts")
  .map((name) => `src/backends/postgres/${name}`);

/** Only with real servers, or with a stand-in that a server answers for. */
const SERVERS_ONLY: readonly string[] = [
  "src/backends/{dynamodb,mysql,opensearch,oracle,redis,s3}/*.test.ts",
  ...POSTGRES_BUT_ITS_SUITE,
  "test/going-back/{promoted-replicas,restored-servers}.test.ts",
  "test/http/{cross-tenant,item-tenants-apart}.test.ts",
  "test/langgraph/validation-{postgres,redis}.test.ts",
  "test/memory/on-every-store.test.ts",
  "test/network/*.test.ts",
  "test/oracle-stand-in/stand-in*.test.ts",
  "test/processes/{killed-group,migrating}.test.ts",
  "test/saver/{far,mysql,postgres,redis}.test.ts",
  "test/sealing/{tampering-services,every-field-services}.test.ts",
  "test/session/{erasing-services,files-of-servers}.test.ts",
  "test/store/{clocks,recall}.test.ts",
];

/** In `npm test` on what is embedded, and once more with the servers. */
const ALSO_WITH_SERVERS: readonly string[] = [
  "src/backends/postgres/conformance.test.ts",
  "src/cli/migrate.test.ts",
  "test/processes/{mailbox,sleeping-agent}.test.ts",
  "test/session/{erasing,holds,racing-holds,racing-item-holds,racing-key-holds,sessions,user-store}.test.ts",
  "test/store/{known-defects,processes,read-access}.test.ts",
];

/** Second clients and layouts, other people's packages, a browser, the equipment of the tests itself, kills in series. */
const WIDE: readonly string[] = [
  "test/wide/*.test.ts",
  "test/langgraph/missing-peers.test.ts",
  "test/{examples,guides/*}.test.ts",
  "test/services/*.test.ts",
  "test/soak/*.test.ts",
  // A layer or a layout over a storage whose driver is proved already.
  "src/backends/file/{steps,several-steps,conformance-folding,store}.test.ts",
  "src/backends/*/conformance-read-access.test.ts",
  "src/backends/oci/*.test.ts",
  "src/checkpoint/dict/{conformance-files,conformance-without-optional-methods,overtaken,sweeping,interrupted,batches,racing}.test.ts",
  "src/checkpoint/bucket-log/{batches,cost,leftovers}.test.ts",
  "test/object-store-requests.test.ts",
  "test/http/{conformance-items,conformance-sqlite,conformance-tenant,hostile-transport}.test.ts",
  "test/sealing/{conformance,conformance-storages,conformance-stores,killed}.test.ts",
  "test/saver/{file,sealed,random-operations}.test.ts",
  // That the suites find what is broken.
  "test/broken/*.test.ts",
  "src/cli/doctor-broken-drivers.test.ts",
  "test/oracle-stand-in/second-opinion.test.ts",
  // Processes that are killed again and again; `npm test` has one sample a storage.
  "test/crash/{live-callers,rival-agents}.test.ts",
  "test/processes/{killed-graph,killed-copies,zombie}.test.ts",
  "test/session/{interrupted-erasure,writers-that-never-stop}.test.ts",
  // Texts made against every pattern, walks of large corpora, and what waits for seconds at a time.
  "test/patterns/*.test.ts",
  "test/{damaged-store,search-model}.test.ts",
  "src/checkpoint/thread/large-states.test.ts",
  "src/store/key-value/{busy-item,interrupted}.test.ts",
  "src/cli/{golden,terminal,people}.test.ts",
  "src/memory/fifty-turns.test.ts",
  "test/conversation/prompt-cache.test.ts",
  "test/http/{limits,failures,wire-cuts,item-wire-cuts,copy-wire-cuts}.test.ts",
  "test/studio/command.test.ts",
];

export type Tier = "fast" | "servers" | "wide" | "matrix";

const OWN_FILES = "they put their own node:fs under the driver, which has to be loaded after it";
const OWN_OF_FAST = {
  "test/agent/page-clocks.test.ts": "it counts clocks, and runs of other files set some in the background",
  "src/backends/file/{segments,syncing,thread-walk}.test.ts": OWN_FILES,
  "test/store/same-random-numbers.test.ts": "it puts its own random numbers under the store",
  "test/session/remembered-people.test.ts": "it looks for warnings that a process gives once",
};
const OWN_OF_WIDE = {
  "src/backends/file/{steps,several-steps}.test.ts": OWN_FILES,
  "test/patterns/patterns.test.ts": "it watches which patterns a module makes while it is loaded",
  "test/wide/{oldest-redis-clients,unsupported-redis-client}.test.ts": "they put another client under the driver",
  "test/http/hostile-transport.test.ts": "it measures what its process holds in memory",
};

/** Why a file needs a process of its own; all others of a tier share one for each core, which loads the sources once. */
export const OWN_PROCESS: Readonly<Record<Tier, Readonly<Record<string, string>>>> = {
  fast: OWN_OF_FAST,
  servers: {},
  wide: OWN_OF_WIDE,
  matrix: { ...OWN_OF_FAST, ...OWN_OF_WIDE },
};

const EVERYTHING: readonly string[] = ["src/**/*.test.ts", "test/**/*.test.ts"];

export const FILES: Readonly<
  Record<Tier, { readonly include: readonly string[]; readonly exclude: readonly string[] }>
> = {
  fast: { include: EVERYTHING, exclude: [...SERVERS_ONLY, ...WIDE] },
  servers: { include: [...SERVERS_ONLY, ...ALSO_WITH_SERVERS], exclude: WIDE },
  wide: { include: WIDE, exclude: [] },
  matrix: { include: EVERYTHING, exclude: [] },
};

/** What each command leaves to the others: its last line. */
export const LEFT_OUT: Readonly<Record<Tier, string>> = {
  fast: "Not in npm test: real servers (npm run test:servers); second clients, a browser, broken drivers, kills in series (npm run test:wide); all of it: npm run test:all",
  servers:
    "Not in npm run test:servers: what needs no server (npm test), second clients, a browser, broken drivers (npm run test:wide)",
  wide: "Not in npm run test:wide: what needs nothing (npm test), real servers (npm run test:servers); every feature on every backend: npm run test:matrix",
  matrix: "Not in npm run test:matrix: campaigns (npm run test:crash, npm run test:chaos)",
};

export const isTier = (word: string): word is Tier => Object.hasOwn(LEFT_OUT, word);
