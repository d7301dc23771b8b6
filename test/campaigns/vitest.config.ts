import { defineConfig, type ViteUserConfig } from "vitest/config";

/** The long runs: `npm run test:crash`. One at a time, because each of them wants the machine for itself. */
const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/campaigns/*.test.ts"],
    globalSetup: ["test/services/desk.ts"],
    testTimeout: 1_800_000,
    hookTimeout: 600_000,
    fileParallelism: false,
    disableConsoleIntercept: true,
  },
});

// biome-ignore lint/style/noDefaultExport: this is where vitest looks.
export default config;
