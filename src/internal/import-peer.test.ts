import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { failureOf } from "../../test/failure-of.ts";
import { importPeer, lookForPeersIn } from "./import-peer.ts";

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

test("the command line finds a package of the working directory, and one of its own first", async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-peer-"));
  const name = "a-package-that-is-only-there";
  await mkdir(join(directory, "node_modules", name), { recursive: true });
  await writeFile(join(directory, "node_modules", name, "index.js"), "exports.answer = 42;");
  const load = () => importPeer<{ answer: number }>(name, "^5", () => import(/* @vite-ignore */ name));
  expect((await failureOf(load)).code).toBe("MISSING_DEPENDENCY");
  lookForPeersIn(directory);
  expect((await load()).answer).toBe(42);
  expect(await importPeer(name, "^5", async () => ({ answer: 1 }))).toEqual({ answer: 1 });
  await rm(directory, { recursive: true });
});
