import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { holdfast } from "../../test/cli/fake-world.ts";
import { linkPackage, WITH_TYPESCRIPT } from "../../test/linked-package.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-init-"));
});
afterEach(() => rm(folder, { recursive: true }));

test("what init writes runs at once, and remembers in a second process", async () => {
  const project = join(folder, "mine");
  const { code, stderr } = await holdfast(["init", project]);
  expect([code, stderr]).toEqual([0, expect.stringContaining("npm install")]);
  await linkPackage(project);
  const say = async (...words: string[]) => {
    const env = { ...process.env, ...WITH_TYPESCRIPT };
    return (await promisify(execFile)(process.execPath, ["agent.mjs", ...words], { cwd: project, env })).stdout;
  };
  expect(await say("I'm Alex.")).toContain("Nice to meet you, Alex.");
  expect(await say("Who am I?")).toMatch(/^Alex\n/);
  expect(await say()).toMatch(/^It is 20\d\d-/);
  const shown = await holdfast(["threads", `file:${project}/threads`, "-o", "id"]);
  expect(shown.stdout).toBe("first\n");
});

test("init writes over nothing, and nothing with --dry-run", async () => {
  expect((await holdfast(["init", join(folder, "a"), "--dry-run"])).code).toBe(0);
  expect(await readdir(folder)).toEqual([]);
  await writeFile(join(folder, "package.json"), "mine");
  const { code, stderr } = await holdfast(["init", folder]);
  expect([code, stderr]).toEqual([5, expect.stringContaining("package.json")]);
  expect([await readdir(folder), await readFile(join(folder, "package.json"), "utf8")]).toEqual([
    ["package.json"],
    "mine",
  ]);
});

test("a store and a model that are named stand in the program with their packages, and no password does", async () => {
  const project = join(folder, "b");
  const wanted = ["--keep-in", "postgres://localhost/agents", "--model", "openai:gpt-5"];
  expect((await holdfast(["init", project, ...wanted])).code).toBe(0);
  const [program, manifest] = [
    await readFile(join(project, "agent.mjs"), "utf8"),
    JSON.parse(await readFile(join(project, "package.json"), "utf8")),
  ];
  expect(program).toContain('"postgres://localhost/agents"');
  expect(program).toContain('const model = "openai:gpt-5";');
  expect(Object.keys(manifest.dependencies)).toEqual(["holdfast", "@ai-sdk/openai", "pg"]);
  expect((await holdfast(["init", join(folder, "c"), "--keep-in", "redis://:s3cret@h:1"])).code).toBe(2);
  expect((await holdfast(["init", join(folder, "c"), "--model", "unknown:x"])).code).toBe(2);
});
