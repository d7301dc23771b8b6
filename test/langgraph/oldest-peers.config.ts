import { join } from "node:path";
import { defineConfig, type ViteUserConfig } from "vitest/config";

/** LangGraph's packages out of another folder, which test/campaigns/servers-savers-oldest-peers.test.ts fills and names. */
const folder = process.env["HOLDFAST_PEERS_FOLDER"] ?? "";

const config: ViteUserConfig = defineConfig({
  resolve: {
    alias: [{ find: /^@langchain\/(.*)$/, replacement: join(folder, "node_modules", "@langchain", "$1") }],
  },
  test: {
    include: [
      "test/langgraph/oldest-peers.check.ts",
      "test/langgraph/validation-memory.test.ts",
      "test/langgraph/validation-sqlite.test.ts",
      "test/langgraph/traps.test.ts",
      "test/langgraph/acting-by-kind.test.ts",
    ],
    globalSetup: ["test/services/desk.ts"],
    testTimeout: 300_000,
    fileParallelism: false,
  },
});

// biome-ignore lint/style/noDefaultExport: this is where vitest looks.
export default config;
