import { expect, test } from "vitest";
import { failureOf } from "../../test/failure-of.ts";
import { importPeer } from "./import-peer.ts";

test("a package that is there is handed on", async () => {
  const { join } = await importPeer("node:path", "*", () => import("node:path"));
  expect(join("a", "b")).toBe("a/b");
});

test("a package that is missing is named together with the command that installs it", async () => {
  const name = "a-package-that-is-not-there";
  const failure = await failureOf(() => importPeer(name, "^5", () => import(/* @vite-ignore */ name)));
  expect(failure.code).toBe("MISSING_DEPENDENCY");
  expect(failure.message).toContain(`npm install "${name}@^5"`);
});
