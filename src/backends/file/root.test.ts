import { execFileSync } from "node:child_process";
import { cp, mkdtemp, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { AgentState } from "../../state/agent-state.ts";
import { FileCheckpointer } from "./index.ts";
import { threadDirectoryName } from "./layout.ts";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "holdfast-file-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
});

const hello = AgentState.create().withMessage({ role: "user", content: "Hello" });

test("what a crash left is never read; it is swept once it is older than an hour, and not before", async () => {
  await new FileCheckpointer({ directory }).save(hello, "t");
  const thread = join(directory, threadDirectoryName("t"));
  const [log = ""] = await readdir(thread);
  const [staging = ""] = (await readdir(join(thread, log))).filter((name) => name.startsWith(".staging-"));
  const [temporary, trash] = [".tmp-0123456789abcdef", ".trash-0123456789abcdef"];
  const leftovers = [join(directory, temporary), join(directory, trash), join(thread, log, staging, temporary)];
  for (const leftover of leftovers.slice(0, 2)) await cp(thread, leftover, { recursive: true });
  await writeFile(leftovers[2] ?? "", "{");
  const notOurs = [".tmp-notes", ".trash-1000"].map((name) => join(directory, name));
  for (const path of notOurs) await writeFile(path, "the user's own");

  await appendOne();
  expect(await areThere(leftovers)).toEqual([true, true, true]);
  const then = new Date(Date.now() - 61 * 60 * 1000);
  for (const path of [...leftovers, ...notOurs]) {
    const inside = await readdir(path).catch(() => []);
    for (const name of ["", ...inside]) await utimes(join(path, name), then, then);
  }
  await appendOne();
  expect(await areThere(leftovers)).toEqual([false, false, false]);
  expect(await areThere(notOurs)).toEqual([true, true]);
});

async function appendOne(): Promise<void> {
  const checkpointer = new FileCheckpointer({ directory });
  expect(await checkpointer.listThreads()).toEqual(["t"]);
  const state = await checkpointer.load("t");
  await checkpointer.save(state?.withMessage({ role: "user", content: "more" }) ?? hello, "t");
}

const areThere = (paths: readonly string[]): Promise<readonly boolean[]> =>
  Promise.all(
    paths.map((path) =>
      stat(path).then(
        () => true,
        () => false,
      ),
    ),
  );

test("a directory that is gone is an outage and not an empty store, and is not created again", async () => {
  const root = join(directory, "threads");
  const checkpointer = new FileCheckpointer({ directory: root, retry: { attempts: 1 } });
  await checkpointer.save(hello, "t");
  await rename(root, `${root}-unmounted`);
  for (const call of [
    () => checkpointer.load("t"),
    () => checkpointer.load("another"),
    () => checkpointer.listThreads(),
    () => checkpointer.save(AgentState.create(hello.fields), "new"),
    () => checkpointer.delete("t"),
    () => checkpointer.copyThread("t", "u"),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: "UNAVAILABLE", context: { location: root } });
  }
  expect(await readdir(directory)).toEqual(["threads-unmounted"]);
  await rename(`${root}-unmounted`, root);
  expect((await checkpointer.load("t"))?.fields).toEqual(hello.fields);
});

test("a directory that is a file, or lies below one, is refused by name", async () => {
  const file = join(directory, "file");
  await writeFile(file, "");
  for (const root of [file, join(file, "threads")]) {
    const loading = new FileCheckpointer({ directory: root }).load("t");
    await expect(loading).rejects.toMatchObject({ code: "INVALID_ARGUMENT", context: { location: root } });
  }
});

test("in a directory that cannot be written, saving is PERMISSION_DENIED and loading works", async ({ skip }) => {
  await new FileCheckpointer({ directory }).save(hello, "t");
  try {
    execFileSync("mount", ["--bind", directory, directory], { stdio: "pipe" });
    onTestFinished(() => void execFileSync("umount", [directory]));
    execFileSync("mount", ["-o", "remount,ro,bind", directory], { stdio: "pipe" });
  } catch (error) {
    skip(`a directory cannot be made read-only here: ${String(error).split("\n")[0]}`);
  }
  const checkpointer = new FileCheckpointer({ directory });
  const state = await checkpointer.load("t");
  expect(state?.fields).toEqual(hello.fields);
  await expect(checkpointer.save(state ?? hello, "t")).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
  await expect(checkpointer.delete("t")).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
});
