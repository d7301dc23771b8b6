import { afterEach, describe, expect, test, vi } from "vitest";
import { openCheckpointer } from "../../src/backends/open.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { killedEverywhere, stores } from "../cli/copy-ends.ts";
import { LOCAL_BACKENDS, type LocalBackend } from "../local-backends.ts";
import { sharedOnServer } from "../processes/shared-storage.ts";
import { askFor } from "../services/with-service.ts";

afterEach(() => vi.restoreAllMocks());

/** A server as a backend of the tests that need none. */
async function onServer(name: "postgres" | "redis" | "opensearch"): Promise<readonly LocalBackend[]> {
  const answer = await askFor(name);
  if (!("url" in answer)) return [];
  const create: LocalBackend["create"] = async () => {
    const { url } = sharedOnServer(answer.url);
    const checkpointer = await openCheckpointer(url);
    await checkpointer.connect();
    return { open: () => checkpointer, dispose: () => checkpointer.close() };
  };
  return [{ name, durable: true, longThread: 1, create, construct: () => ({}) as Checkpointer }];
}

const [memory, dict, file, sqlite] = LOCAL_BACKENDS as [LocalBackend, LocalBackend, LocalBackend, LocalBackend];
const SERVERS = await Promise.all((["postgres", "redis", "opensearch"] as const).map(onServer));
const PAIRS = [memory, dict, file, ...SERVERS.flat()].flatMap((other) => [
  { source: other, target: sqlite },
  { source: sqlite, target: other },
]);

describe.each(PAIRS)("from $source.name to $target.name", ({ source, target }) => {
  test.each([
    ["before", []],
    ["after", []],
    ["before", ["--cut-over"]],
    ["after", ["--cut-over"]],
  ] as const)("17.4: a copy that is killed %s any driver call is whole when it is run again: %j", (when, args) =>
    stores(source, target, async (from, to) => {
      expect(await killedEverywhere(from, to, when, args)).toBeGreaterThan(15);
    }),
  );
});
