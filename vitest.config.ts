import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["test/campaigns/**"],
    globalSetup: ["test/services/desk.ts"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Most tests wait for the disk or for another process: every core may have one.
    maxWorkers: "100%",
  },
});

export default config;
