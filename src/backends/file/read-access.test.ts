import { mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { readingCalls } from "../../../test/read-access/every-method.ts";
import { fillStore } from "../../../test/read-access/fill-store.ts";
import { hashedFiles } from "../../../test/read-access/hashed-files.ts";
import { type ObservedStore, testReadAccess } from "../../../test/read-access/proof.ts";
import { withoutWritePermission } from "../../../test/read-access/without-write-permission.ts";
import { openCheckpointer } from "../open.ts";
import { FileCheckpointer } from "./index.ts";
import { newTemporaryName } from "./layout.ts";
import { LEFTOVER_AGE_MS } from "./root.ts";

async function observed(name: string): Promise<ObservedStore> {
  const root = await mkdtemp(join(tmpdir(), "holdfast-file-read-"));
  return {
    open: (options) => new FileCheckpointer({ ...options, directory: join(root, name) }),
    contents: () => hashedFiles(root),
    cleanup: () => rm(root, { recursive: true }),
  };
}

testReadAccess({ name: "files", create: () => observed("threads"), missing: () => observed("not/there") });

test("what a crash left behind stays in place with read access", async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-file-read-"));
  const writer = new FileCheckpointer({ directory });
  await fillStore(writer);
  await writer.close();
  const name = newTemporaryName();
  const leftover = join(directory, name);
  await writeFile(leftover, "half a record");
  const old = new Date(Date.now() - 2 * LEFTOVER_AGE_MS);
  await utimes(leftover, old, old);
  const before = await hashedFiles(directory);
  const reader = await openCheckpointer(`file:${directory}`, { access: "read" });
  expect((await reader.listThreads()).length).toBeGreaterThan(0);
  await reader.close();
  expect(await hashedFiles(directory)).toEqual(before);
  // A writer does clean it up.
  await new FileCheckpointer({ directory }).load("long");
  expect(Object.keys(await hashedFiles(directory))).not.toContain(name);
  await rm(directory, { recursive: true });
});

test("files that cannot be written are read, by every kind of call", async () => {
  const directory = await mkdtemp(join(tmpdir(), "holdfast-file-read-"));
  const writer = new FileCheckpointer({ directory });
  const filled = await fillStore(writer);
  await writer.close();
  const reader = new FileCheckpointer({ directory, access: "read" });
  await withoutWritePermission(directory, async () => {
    for (const call of Object.values(readingCalls(reader, filled))) await call();
    expect((await reader.load("long"))?.messages).toHaveLength(70);
  });
  await reader.close();
  await rm(directory, { recursive: true });
});

test("a file in the place of the directory is INVALID_ARGUMENT, also with read access", async () => {
  const root = await mkdtemp(join(tmpdir(), "holdfast-file-read-"));
  await writeFile(join(root, "file"), "");
  for (const directory of [join(root, "file"), join(root, "file", "below")]) {
    const { code } = await failureOf(() => new FileCheckpointer({ directory, access: "read" }).connect());
    expect([directory, code]).toEqual([directory, "INVALID_ARGUMENT"]);
  }
  await rm(root, { recursive: true });
});
