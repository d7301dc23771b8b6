import { defineConfig, type ViteUserConfig, type ViteUserConfigFnObject } from "vitest/config";
import { FailuresInShort } from "./test/failures-in-short.ts";
import { folderInMemory } from "./test/folder-in-memory.ts";

/**
 * What `npm test` leaves to `npm run test:all`: the examples, the tests of the equipment of the tests, a second client
 * of a server, a second layout or storage behind the same code, the stand-in for a store whose log runs on a real
 * server already, the suite of drivers once more through a reader that cannot write, every interleaving of acts
 * on files beside a few, and what waits for seconds at a time.
 */
const MATRIX: readonly string[] = [
  "src/backends/oci/conformance.test.ts",
  "src/backends/oci/faults.test.ts",
  "src/backends/oci/racing.test.ts",
  "test/object-store-requests.test.ts",
  "src/backends/file/several-steps.test.ts",
  "src/backends/file/two-at-once.test.ts",
  "src/backends/file/conformance-folding.test.ts",
  "src/checkpoint/storage-adapter/conformance-without-optional-methods.test.ts",
  "test/examples.test.ts",
  "test/services/services.test.ts",
  "src/backends/oracle/conformance.test.ts",
  "src/backends/oracle/conformance-checkpointer.test.ts",
  "src/backends/oracle/conformance-saver.test.ts",
  "src/backends/oracle/conformance-store.test.ts",
  "src/backends/oracle/grammar.test.ts",
  "src/backends/oracle/processes.test.ts",
  "test/oracle-stand-in/second-opinion.test.ts",
  "src/backends/*/conformance-read-access.test.ts",
  "src/backends/redis/conformance-node-redis.test.ts",
  "src/backends/redis/absence.test.ts",
  "src/backends/redis/silent-cluster-nodes.test.ts",
  "src/backends/redis/silent-connections.test.ts",
  "src/backends/redis/range-ends.test.ts",
  "test/session/erasing-services.test.ts",
  "test/http/conformance-items.test.ts",
  "src/cli/doctor-broken-drivers.test.ts",
  "test/studio/accessibility.test.ts",
  "test/http/conformance-sqlite.test.ts",
  "test/sealing/conformance-storages.test.ts",
  "test/sealing/conformance-stores.test.ts",
  "test/sealing/killed.test.ts",
  "test/sealing/tampering-services.test.ts",
  "test/http/conformance-tenant.test.ts",
  "test/http/hostile-transport.test.ts",
  "test/store/recall.test.ts",
  "test/langgraph/moving-in-redis.test.ts",
];

const config: ViteUserConfigFnObject = defineConfig(({ mode }) => {
  // `npm test` keeps its files and its servers' data in memory, `npm run test:all` keeps them on the disk.
  const temporary = mode === "all" ? undefined : folderInMemory();
  if (temporary !== undefined) process.env["TMPDIR"] ??= temporary;
  return options(mode === "all" ? [] : MATRIX);
});

const options = (leftOut: readonly string[]): ViteUserConfig => ({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["test/campaigns/**", ...leftOut],
    globalSetup: ["test/services/desk.ts"],
    reporters: ["default", new FailuresInShort()],
    // Patience with a slow, busy machine. They only have to end what hangs: no statement of a test rests on them.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
    // Most tests wait for the disk or for another process: every core may have one.
    maxWorkers: "100%",
  },
});

export default config;
