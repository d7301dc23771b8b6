import { availableParallelism } from "node:os";
import { defineConfig, type ViteUserConfig, type ViteUserConfigFnObject } from "vitest/config";
import { FailuresInShort } from "./test/failures-in-short.ts";
import { folderInMemory } from "./test/folder-in-memory.ts";
import { isServiceName, isWanted, SERVICES } from "./test/services/services.ts";
import { FILES, isTier, LEFT_OUT, OWN_PROCESS, type Tier } from "./test/tiers.ts";
import { packagesOfWide } from "./test/wide/resolve.ts";

const config: ViteUserConfigFnObject = defineConfig(({ mode }) => {
  const tier = isTier(mode) ? mode : "fast";
  // `npm test` keeps its files and its servers' data in memory; the other tiers keep them on the disk.
  const temporary = tier === "fast" ? folderInMemory() : undefined;
  if (temporary !== undefined) process.env["TMPDIR"] ??= temporary;
  // For the workers and the global setup: which servers may be asked for, and how much of a suite is run.
  process.env["HOLDFAST_TIER"] = tier;
  return optionsOf(tier);
});

function optionsOf(tier: Tier): ViteUserConfig {
  const include = [...FILES[tier].include];
  const exclude = ["test/campaigns/**", "**/node_modules/**", ...FILES[tier].exclude, ...foldersOfOthers()];
  const own = Object.keys(OWN_PROCESS[tier]);
  const shared = {
    globalSetup: ["test/services/desk.ts"],
    // Patience with a slow, busy machine. They only have to end what hangs: no statement of a test rests on them.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: 60_000 } },
  };
  const plugins = [packagesOfWide()];
  return {
    test: {
      reporters: ["default", new FailuresInShort(LEFT_OUT[tier])],
      // Tests wait for the disk, for timers and for other processes: with one for each core, a fifth of the time nothing ran.
      maxWorkers: Math.ceil(availableParallelism() * 1.5),
      projects: [
        // Loading the sources anew for each file costs more than most tests themselves.
        { plugins, test: { ...shared, name: "shared", isolate: false, include, exclude: [...exclude, ...own] } },
        { plugins, test: { ...shared, name: "own process", isolate: true, include: own, exclude } },
      ],
    },
  };
}

/** With servers named (`npm run test:servers redis`), the folders of the others. Oracle's stand-in stands on PostgreSQL. */
function foldersOfOthers(): readonly string[] {
  const names = Object.keys(SERVICES).filter(isServiceName);
  const folders = names
    .filter((name) => !isWanted(name))
    .flatMap((name) => (name === "postgres" ? [name, "oracle"] : name));
  return process.env["HOLDFAST_TIER"] === "servers" ? folders.map((folder) => `src/backends/${folder}/**`) : [];
}

export default config;
