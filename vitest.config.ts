import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    exclude: ["test/campaigns/**"],
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});

export default config;
