import { defineConfig, type ViteUserConfigFnObject } from "vitest/config";

/**
 * What `npm test` leaves to `npm run test:all`: a second client of a server, a second storage behind the service, the
 * stand-in for a store whose log runs on a real server already, the suite of drivers once more through a reader that
 * cannot write, every interleaving of more than two steps, and what waits for seconds at a time.
 */
const MATRIX: readonly string[] = [
  "src/backends/oci/conformance.test.ts",
  "src/backends/oci/faults.test.ts",
  "src/backends/oci/racing.test.ts",
  "src/backends/file/several-steps.test.ts",
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
];

const config: ViteUserConfigFnObject = defineConfig(({ mode }) => ({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["test/campaigns/**", ...(mode === "all" ? [] : MATRIX)],
    globalSetup: ["test/services/desk.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Most tests wait for the disk or for another process: every core may have one.
    maxWorkers: "100%",
  },
}));

export default config;
