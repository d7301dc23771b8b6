import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { linkPackage, WITH_TYPESCRIPT } from "../linked-package.ts";
import { ANTHROPIC_KEY, startFakeAnthropic } from "../providers/fake-anthropic.ts";
import { OPENAI_KEY, startFakeOpenAI } from "../providers/fake-openai.ts";

const docs = new URL("../../docs/", import.meta.url);

/** Their first programs need a server of their kind, or a key file outside the folder. */
const NEED_MORE = ["dynamodb", "http", "mysql", "oci", "opensearch", "oracle", "postgres", "redis", "s3", "sealing"];

/** The tutorial is followed whole, in a test of its own. */
const names = (await readdir(docs)).filter((name) => name.endsWith(".md") && name !== "tutorial.md");
const programs: [name: string, code: string][] = [];
for (const name of names.filter((page) => !NEED_MORE.includes(page.replace(".md", "")))) {
  const code = /^```ts\n([\s\S]*?)^```$/m.exec(await readFile(new URL(name, docs), "utf8"))?.[1];
  if (code !== undefined) programs.push([name, code]);
}

test("most pages have a program", () => expect(programs.length).toBeGreaterThan(20));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-first-program-"));
  await linkPackage(folder);
});
afterEach(() => rm(folder, { recursive: true }));

const answers = Array.from({ length: 12 }, () => ({ blocks: [{ type: "text" as const, text: "Noon." }] }));

test.each(programs)("the first program of docs/%s runs as it stands in an empty folder", async (_, code) => {
  await using openai = await startFakeOpenAI(answers);
  await using anthropic = await startFakeAnthropic(answers);
  await writeFile(join(folder, "program.mts"), code);
  const env = {
    ...process.env,
    ...WITH_TYPESCRIPT,
    ERASURE_KEY: randomBytes(32).toString("base64"),
    OPENAI_API_KEY: OPENAI_KEY,
    OPENAI_BASE_URL: openai.url,
    ANTHROPIC_API_KEY: ANTHROPIC_KEY,
    ANTHROPIC_BASE_URL: anthropic.url,
  };
  const ran = promisify(execFile)(process.execPath, ["program.mts"], { cwd: folder, env, timeout: 240_000 });
  await expect(ran).resolves.toBeDefined();
});
