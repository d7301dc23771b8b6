import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { StateError } from "../../errors.ts";
import { AgentState } from "../../state/agent-state.ts";
import { FileCheckpointer } from "./index.ts";

/** A disk of 256 KiB. Only root can mount one. */
let disk: string;
let reason: string | undefined;

beforeAll(() => {
  disk = mkdtempSync(join(tmpdir(), "holdfast-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], { stdio: "pipe" });
  } catch (error) {
    reason = `a small file system cannot be mounted here: ${String(error).split("\n")[0]}`;
  }
});

afterAll(() => {
  if (reason === undefined) execFileSync("umount", [disk]);
  rmSync(disk, { recursive: true });
});

/** Fills the disk until this many bytes are free; returns a function that frees them again. */
function leaveFree(bytes: number): () => void {
  const filler = join(disk, "filler");
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - bytes)), { flag: "a" });
  return () => rmSync(filler);
}

const message = (content: string): { role: "user"; content: string } => ({ role: "user", content });

test("on a full disk a save fails as STORAGE_FULL or succeeds completely, whatever space was left, and works again with space", async ({
  skip,
}) => {
  if (reason !== undefined) skip(reason);
  let [full, saved] = [0, 0];
  for (let free = 0; free <= 64 * 1024; free += 4096) {
    const directory = join(disk, `threads-${free}`);
    mkdirSync(directory);
    const checkpointer = new FileCheckpointer({ directory });
    let state = AgentState.create().withMessage(message("before"));
    await checkpointer.save(state, "t");
    const giveBack = leaveFree(free);
    const next = state.withMessage(message("x".repeat(20_000)));
    for (const threadId of ["t", "new"]) {
      try {
        await checkpointer.save(threadId === "t" ? next : AgentState.create(next.fields), threadId);
        expect((await new FileCheckpointer({ directory }).load(threadId))?.fields).toEqual(next.fields);
        saved++;
      } catch (error) {
        expect(StateError.is(error, "STORAGE_FULL"), String(error)).toBe(true);
        const found = await new FileCheckpointer({ directory }).load(threadId);
        expect(found?.fields).toEqual(threadId === "t" ? state.fields : undefined);
        full++;
      }
    }
    giveBack();
    state = (await checkpointer.load("t")) ?? state;
    await checkpointer.save(state.withMessage(message("after")), "t");
    expect((await checkpointer.load("t"))?.messages.at(-1)).toEqual(message("after"));
    rmSync(directory, { recursive: true });
  }
  expect(full).toBeGreaterThan(5);
  expect(saved).toBeGreaterThan(5);
});

test("edits on a full disk are made completely or not at all", async ({ skip }) => {
  if (reason !== undefined) skip(reason);
  let [full, done] = [0, 0];
  for (let free = 0; free <= 64 * 1024; free += 4096) {
    const directory = join(disk, `threads-${free}`);
    mkdirSync(directory);
    const checkpointer = new FileCheckpointer({ directory });
    let state = AgentState.create();
    for (const checkpointId of ["a", "b", "c"]) {
      state = state.withMessage(message(checkpointId.repeat(4000)));
      await checkpointer.save(state, "t", { checkpointId });
    }
    const giveBack = leaveFree(free);
    const failure = await checkpointer.delete("t", { checkpointId: "a" }).catch((error: unknown) => error);
    if (failure !== true) expect(StateError.is(failure, "STORAGE_FULL"), String(failure)).toBe(true);
    if (failure === true) done++;
    else full++;
    const later = new FileCheckpointer({ directory });
    const kept = (await later.listCheckpoints("t")).map(({ checkpointId }) => checkpointId);
    expect([["c", "b"], ...(failure === true ? [] : [["c", "b", "a"]])]).toContainEqual(kept);
    expect((await later.load("t"))?.fields).toEqual(state.fields);
    giveBack();
    await later.delete("t", { checkpointId: "a" });
    expect(await later.listCheckpoints("t")).toHaveLength(2);
    expect((await later.load("t"))?.fields).toEqual(state.fields);
    rmSync(directory, { recursive: true });
  }
  expect(full).toBeGreaterThan(1);
  expect(done).toBeGreaterThan(1);
});

test("on a full disk a new process deletes a thread, its only checkpoint, and all that vacuum finds too old", async ({
  skip,
}) => {
  if (reason !== undefined) skip(reason);
  const directory = join(disk, "threads-deleted");
  const ids = ["whole", "by its checkpoint", "by its age", "kept"];
  const before = new FileCheckpointer({ directory, now: () => 1_000 });
  for (const id of ids.slice(0, 3)) {
    await before.save(AgentState.create().withMessage(message("x".repeat(2000))), id, { checkpointId: "only" });
  }
  const kept = AgentState.create().withMessage(message("kept"));
  await new FileCheckpointer({ directory }).save(kept, "kept");
  const giveBack = leaveFree(0);
  const refused = new FileCheckpointer({ directory }).save(AgentState.create(), "new");
  await expect(refused).rejects.toMatchObject({ code: "STORAGE_FULL" });

  // Each deletion frees space, which the next one must not rely on.
  const fill = (): void => void leaveFree(0);
  expect(await new FileCheckpointer({ directory }).delete("whole")).toBe(true);
  fill();
  expect(await new FileCheckpointer({ directory }).delete("by its checkpoint", { checkpointId: "only" })).toBe(true);
  fill();
  expect(await new FileCheckpointer({ directory }).vacuum({ olderThanDays: 1 })).toMatchObject({ threads: 1 });
  giveBack();
  const later = new FileCheckpointer({ directory });
  expect(await later.listThreads()).toEqual(["kept"]);
  expect((await later.load("kept"))?.fields).toEqual(kept.fields);
  rmSync(directory, { recursive: true });
});
