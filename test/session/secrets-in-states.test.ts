import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { afterAll, describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { sqliteCheckpointer, sqliteStore } from "../../src/backends/sqlite/index.ts";
import { toLangGraphSaver } from "../../src/entry/langgraph.ts";
import { saverOf } from "../../src/saver/checkpoint-saver.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { isSecretRef, redactSecrets, refuseSecrets, resolveSecret, secretRef } from "../../src/state/secrets.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { Agent } from "../../src/wiring/agent.ts";
import { LOCAL_BACKENDS } from "../local-backends.ts";

/** Made up, and put together here, so that no scanner takes this file for a leak. */
const random = (length: number, seed: string): string =>
  createHash("sha512").update(seed).digest("base64url").replace(/[-_]/g, "7").slice(0, length);
const SECRETS: Readonly<Record<string, string>> = {
  openai: `sk-proj-${random(40, "a")}`,
  anthropic: `sk-ant-api03-${random(40, "b")}`,
  stripe: `sk_live_${random(24, "c")}`,
  google: `AIza${random(35, "d")}`,
  aws: `AKIA${random(40, "e").toUpperCase().slice(0, 16)}`,
  github: `ghp_${random(36, "f")}`,
  slack: `xoxb-${random(24, "g")}`,
  jwt: `eyJ${random(20, "h")}.eyJ${random(30, "i")}.${random(30, "j")}`,
  pem: `-----BEGIN PRIVATE KEY-----\n${random(60, "k")}\n-----END PRIVATE KEY-----`,
};
const dsn = `postgres://app:${random(16, "l")}@db/agents`;
const KEPT = ["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b", "sk-learn is a library", "task-12345678901234567890"];

const bytesIn = async (directory: string): Promise<string> => {
  const files = (await readdir(directory, { recursive: true, withFileTypes: true })).filter((each) => each.isFile());
  return (await Promise.all(files.map((each) => readFile(join(each.parentPath, each.name), "latin1")))).join("");
};

describe.each(LOCAL_BACKENDS)("on $name", (backend) => {
  test("secrets of a whole run reach no storage: marks stand where they stood, and hashes stay", async () => {
    const storage = await backend.create();
    const checkpointer = storage.open({ redact: redactSecrets });
    const leak = tool({
      name: "leak",
      effect: "pure",
      inputSchema: { type: "object" },
      execute: () => `found ${Object.values(SECRETS).join(" and ")}`,
    });
    const agent = new Agent({
      model: scriptedModel([{ toolCalls: [{ name: "leak", arguments: { dsn } }] }, `Use ${SECRETS["openai"]}.`]),
      tools: [leak],
      checkpointer,
    });
    const prompt = `My key is ${SECRETS["anthropic"]}; ${KEPT.join("; ")}`;
    const { text } = await agent.run(prompt, { threadId: "t", metadata: { key: SECRETS["github"] } });
    expect(text, "what is in memory stays whole").toContain(SECRETS["openai"]);
    const stored = JSON.stringify([
      (await checkpointer.load("t"))?.toCheckpoint(),
      await checkpointer.getMetadata("t"),
    ]);
    const all = [...Object.values(SECRETS), dsn].map((secret) => secret.split("\n")[1] ?? secret);
    expect(all.filter((secret) => stored.includes(secret))).toEqual([]);
    for (const mark of ["api-key", "token", "private-key", "password"]) expect(stored).toContain(`[redacted:${mark}]`);
    for (const kept of KEPT) expect(stored).toContain(kept);
    if (checkpointer.capabilities.search) {
      expect(await checkpointer.search(random(24, "c"))).toHaveLength(0);
      expect(await checkpointer.search("library")).toHaveLength(1);
    }
    await checkpointer.close();
    if (storage.directory !== undefined) {
      const bytes = await bytesIn(storage.directory);
      expect(all.filter((secret) => bytes.includes(secret))).toEqual([]);
    }
    await storage.dispose();
  });

  test("a save that is refused for a secret writes nothing, and goes through once the secret is a reference", async () => {
    const storage = await backend.create();
    const checkpointer = storage.open({ redact: refuseSecrets });
    const state = AgentState.create({ metadata: { key: SECRETS["openai"] } });
    await expect(checkpointer.save(state, "t")).rejects.toThrow(/holds a secret \(api-key\)\. Put a secretRef\(\)/);
    expect(await checkpointer.exists("t")).toBe(false);
    await checkpointer.save(state.withMetadata({ key: secretRef("OPENAI_API_KEY") }), "t");
    expect(isSecretRef((await checkpointer.load("t"))?.metadata["key"])).toBe(true);
    await checkpointer.close();
    await storage.dispose();
  });
});

test("a redactor of your own sees every text, also in metadata, and bytes and numbers stay what they are", async () => {
  const [backend] = LOCAL_BACKENDS;
  const storage = await backend?.create();
  const checkpointer = storage?.open({ redact: (text) => text.replace("Ann", "[redacted:name]") });
  const bytes = Buffer.from("Ann");
  const state = AgentState.create({ metadata: { bytes, big: 12n, at: new Date(0), list: new Map([["Ann", "Ann"]]) } });
  await checkpointer?.save(state.withMessage(userMessage("I am Ann")), "t", { metadata: { who: "Ann" } });
  const loaded = await checkpointer?.load("t");
  expect(loaded?.messages[0]?.content).toBe("I am [redacted:name]");
  expect(loaded?.metadata["bytes"]).toEqual(bytes);
  expect(loaded?.metadata["big"]).toBe(12n);
  expect(loaded?.metadata["at"]).toEqual(new Date(0));
  expect(await checkpointer?.getMetadata("t")).toEqual({ who: "[redacted:name]" });
  const nonsense = storage?.open({ redact: (() => undefined) as never });
  await expect(nonsense?.save(AgentState.create(), "u", { metadata: { a: "b" } })).rejects.toThrow(/returns the text/);
});

test("an object of the user's that looks like one of the codec's tags is redacted like any other, wherever it stands", async () => {
  const secret = SECRETS["openai"] ?? "";
  const own = { $: "bytes", apiKey: secret, v: secret };
  const folder = await mkdtemp(join(tmpdir(), "holdfast-redacted-"));
  const path = join(folder, "a.db");
  const checkpointer = sqliteCheckpointer({ path, redact: redactSecrets });
  const state = AgentState.create({ metadata: { own, ...own } }).withMessage(userMessage("Hello.", { metadata: own }));
  await checkpointer.save(state, "t", { metadata: own });
  await checkpointer.save(state.withArtifact("name", secret), "t", { metadata: { own } });
  await saverOf(checkpointer).put({ threadId: "g", checkpointId: "1", checkpointData: { own, ...own }, metadata: own });
  const store = sqliteStore({ path, redact: redactSecrets });
  await store.put(["n"], "a", own, { metadata: own });
  const redacted = { $: "bytes", apiKey: "[redacted:api-key]", v: "[redacted:api-key]" };
  expect((await checkpointer.load("t"))?.metadata["own"]).toEqual(redacted);
  expect(await checkpointer.getMetadata("t")).toEqual({ own: redacted });
  expect((await saverOf(checkpointer).get({ threadId: "g" }))?.checkpointData).toEqual({ own: redacted, ...redacted });
  expect(await store.get(["n"], "a")).toEqual(redacted);
  await Promise.all([checkpointer.close(), store.close()]);
  expect(await bytesIn(folder)).not.toContain(secret);
  await rm(folder, { recursive: true });
});

test("a redactor that would change roles, ids, hashes and people's names is not given them: a run goes on, and the person can be erased", async () => {
  const checkpointer = new MemoryCheckpointer({
    redact: (text) => text.replaceAll(/user|tool|[a-f0-9]{3}|ann@|started|succeeded/g, "[redacted]"),
  });
  const asked: number[] = [];
  const add = tool({
    name: "toolbox",
    effect: "atMostOnce",
    inputSchema: { type: "object" },
    execute: (_, { interrupt }) => {
      asked.push(1);
      return interrupt({ question: "Go on?" });
    },
  });
  const model = scriptedModel([{ toolCalls: [{ id: "abc123", name: "toolbox", arguments: {} }] }, "Done."]);
  const agent = new Agent({ model, tools: [add], checkpointer });
  await agent.run("I am the user ann@home", { threadId: "t", subject: "ann@home" });
  const [question] = (await checkpointer.load("t"))?.interrupts ?? [];
  const other = new Agent({ model, tools: [add], checkpointer });
  const { text } = await other.answer({ threadId: "t", id: question?.id ?? "", response: "yes" });
  expect(text).toBe("Done.");
  const loaded = await checkpointer.load("t");
  expect(loaded?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  expect(loaded?.messages[0]?.content).toBe("I am the [redacted] [redacted]home");
  expect(loaded?.messages[0]?.metadata).toMatchObject({ subject: "ann@home" });
  expect(loaded?.toolExecutions).toMatchObject([{ toolCallId: "abc123", status: "succeeded" }]);
  expect(asked).toHaveLength(2);
});

test("a reference is resolved when it is needed, from the environment or wherever secrets are", async () => {
  expect(await resolveSecret(secretRef("A"), async (name) => `secret ${name}`)).toBe("secret A");
  await expect(resolveSecret(secretRef("HOLDFAST_NO_SUCH_SECRET"))).rejects.toMatchObject({ code: "NOT_FOUND" });
  await expect(resolveSecret("A" as never)).rejects.toThrow(/takes what secretRef\(\) returned/);
  expect(() => secretRef("")).toThrow(/by its name/);
});

describe("at the save boundary of stores and savers", () => {
  const secret = SECRETS["openai"] ?? "";
  const folder = mkdtemp(join(tmpdir(), "holdfast-redacted-"));
  afterAll(async () => rm(await folder, { recursive: true }));

  test("an item, its metadata, its words and what is embedded of it hold the mark and not the secret", async () => {
    const directory = await mkdtemp(join(await folder, "store-"));
    const embedded: string[] = [];
    const embedder = async (texts: readonly string[]) => {
      embedded.push(...texts);
      return texts.map(() => [1, 0]);
    };
    const store = sqliteStore({ path: join(directory, "a.db"), redact: redactSecrets, embedder });
    const value = { note: `the key is ${secret}`, at: new Date(0) };
    await store.put(["n"], "a", value, { metadata: { from: secret } });
    await store.put(["n"], "b", { any: 1 }, { index: { text: `found by ${secret}` } });
    await store.putBatch([{ namespace: ["n"], key: "c", value: secret }]);
    await store.update(["n"], "c", (before) => `${String(before)} and ${secret}`);
    const item = await store.getItem<typeof value>(["n"], "a");
    expect(item?.value).toEqual({ note: "the key is [redacted:api-key]", at: new Date(0) });
    expect(item?.metadata).toEqual({ from: "[redacted:api-key]" });
    expect(await store.get(["n"], "c")).toBe("[redacted:api-key] and [redacted:api-key]");
    expect(embedded.join()).not.toContain(secret);
    expect(value.note).toContain(secret);
    const strict = sqliteStore({ path: join(directory, "a.db"), redact: refuseSecrets });
    await expect(strict.put(["n"], "d", secret)).rejects.toThrow(/holds a secret \(api-key\)/);
    expect(await strict.get(["n"], "d")).toBeUndefined();
    await store.close();
    await strict.close();
    expect(await bytesIn(directory)).not.toContain(secret);
  });

  test("a saver and LangGraph's messages hold the mark, in checkpoints, in writes and in metadata", async () => {
    const directory = await mkdtemp(join(await folder, "saver-"));
    const checkpointer = sqliteCheckpointer({ path: join(directory, "a.db"), redact: redactSecrets });
    const saver = saverOf(checkpointer);
    const at = { threadId: "t", checkpointId: "1" };
    await saver.put({ ...at, checkpointData: { list: [`one ${secret}`, "two"] }, metadata: { from: secret } });
    await saver.putWrites({ ...at, taskId: "task", writes: [["channel", { deep: secret }]] });
    const saved = await saver.get({ threadId: "t" });
    expect(saved?.checkpointData).toEqual({ list: ["one [redacted:api-key]", "two"] });
    expect(saved?.metadata).toEqual({ from: "[redacted:api-key]" });
    expect(saved?.pendingWrites[0]?.value).toEqual({ deep: "[redacted:api-key]" });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("say", () => ({
        messages: [new AIMessage({ content: "", tool_calls: [{ id: "c", name: "f", args: { secret } }] })],
      }))
      .addEdge(START, "say")
      .addEdge("say", END)
      .compile({ checkpointer: toLangGraphSaver(checkpointer) });
    const config = { configurable: { thread_id: "g" }, durability: "sync" as const };
    await graph.invoke({ messages: [new HumanMessage(`use ${secret}`)] }, config);
    const [human, ai] = (await graph.getState(config)).values.messages as [HumanMessage, AIMessage];
    expect(human).toBeInstanceOf(HumanMessage);
    expect(human.content).toBe("use [redacted:api-key]");
    expect(ai.tool_calls?.[0]?.args).toEqual({ secret: "[redacted:api-key]" });
    const serde = { dumpsTyped: async () => ["x", new Uint8Array()] as never, loadsTyped: async () => undefined };
    expect(() => toLangGraphSaver(checkpointer, { serde })).toThrow(/redact in the serialiser/);
    const strict = saverOf(sqliteCheckpointer({ path: join(directory, "b.db"), redact: refuseSecrets }));
    await expect(strict.put({ ...at, checkpointData: { secret } })).rejects.toThrow(/holds a secret \(api-key\)/);
    expect(await strict.get({ threadId: "t" })).toBeUndefined();
    await checkpointer.close();
    expect(await bytesIn(directory)).not.toContain(secret);
  });
});
