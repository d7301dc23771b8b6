import { describe, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { isReadable } from "../../src/checkpoint/log/listed-threads.ts";
import { PrefixLog } from "../../src/checkpoint/log/prefix-log.ts";
import type { LogChain, ThreadLog } from "../../src/checkpoint/log/thread-log.ts";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, toolMessage, userMessage } from "../../src/state/message.ts";
import { attributed } from "../../src/state/people/subjects.ts";
import { ReferenceLog } from "../broken/drivers/reference-log.ts";
import { places } from "../property-seed.ts";
import { sampleKeyring } from "./sample-keyring.ts";

/** Everything that a log holds, as one text: what a reader of the storage sees. */
async function bytesOf(log: ThreadLog): Promise<string> {
  const seen: string[] = [];
  for (const { threadId } of (await log.listThreads({ prefix: "", limit: 1000 })).items.filter(isReadable)) {
    for (const record of (await log.readRecords(threadId, { limit: 1000 }))?.records ?? []) {
      const { body, ...entry } = record;
      seen.push(JSON.stringify(entry), Buffer.from(body).toString("latin1"));
    }
  }
  return seen.join("\n");
}

async function place() {
  const { keyring, options } = await sampleKeyring({ cacheMs: 0 });
  const log = new MemoryLog();
  const sealing = new Sealing({ keyring });
  return { keyring, options, log, sealing, checkpointer: new Checkpointer(log, { sealing }) };
}

async function destroy(keyring: Keyring, ...subjects: readonly string[]): Promise<void> {
  for await (const people of keyring.people()) {
    for (const { token, subject } of people) if (subjects.includes(subject)) await keyring.destroy(token);
  }
}

const about = (subject: string, text: string) => ({ ...userMessage(text), metadata: { subject } });

describe("what is sealed", () => {
  test("nothing that was said, and no metadata, can be read in the storage, and everything loads", async () => {
    const { log, checkpointer } = await place();
    const state = AgentState.create({ metadata: { subject: "ada@example.org", plan: "zebra-plan" } })
      .withMessage(userMessage("zebra-question"))
      .withMessage(assistantMessage("zebra-answer"));
    await checkpointer.save(state, "t", { metadata: { colour: "zebra-colour" } });
    const bytes = await bytesOf(log);
    expect(bytes).not.toContain("zebra");
    expect(bytes).not.toContain("ada@example.org");
    const loaded = await checkpointer.load("t");
    expect(loaded?.messages.map(({ content }) => content)).toEqual(["zebra-question", "zebra-answer"]);
    expect(loaded?.metadata).toEqual({ subject: "ada@example.org", plan: "zebra-plan" });
    expect(checkpointer.capabilities).toMatchObject({ sealing: "all", searchMethod: "scan", metadataQuery: true });
    expect((await checkpointer.search("zebra"))[0]?.threadId).toBe("t");
    expect((await checkpointer.queryByMetadata("colour", "zebra-colour"))[0]?.threadId).toBe("t");
  });

  test("with a plain index words and metadata about no person can be read, the rest cannot, and the capabilities say so", async () => {
    const { keyring } = await sampleKeyring();
    const log = new ReferenceLog(new MemoryLog());
    const checkpointer = new Checkpointer(log, { sealing: new Sealing({ keyring, index: "plain" }) });
    const state = AgentState.create({ providerState: { key: "zebra-state" } })
      .withMessage(userMessage("giraffe"))
      .withMessage(about("ada", "zebra-word"));
    await checkpointer.save(state, "t", {
      metadata: { colour: "giraffe-colour", whose: attributed("ada", "zebra-metadata") },
    });
    const bytes = await bytesOf(log);
    expect(bytes).not.toContain("zebra");
    expect(bytes).toContain("giraffe-colour");
    expect(checkpointer.capabilities).toMatchObject({ sealing: "except index", searchMethod: "index" });
    expect(await checkpointer.search("giraffe")).toHaveLength(1);
    expect(await checkpointer.queryByMetadata("colour", "giraffe-colour")).toHaveLength(1);
    expect(await checkpointer.search("zebra"), "what is about people is in no index").toHaveLength(0);
    expect((await checkpointer.load("t"))?.messages[1]?.content).toBe("zebra-word");
    expect((await checkpointer.listCheckpoints("t"))[0]?.metadata?.["whose"]).toEqual(
      attributed("ada", "zebra-metadata"),
    );
  });

  test("without keys, an index that finds nothing says of which threads it holds nothing, and asks no more where none is sealed", async () => {
    const { keyring } = await sampleKeyring();
    const log = new ReferenceLog(new MemoryLog());
    const sealed = new Checkpointer(log, { sealing: new Sealing({ keyring }) });
    await sealed.save(AgentState.create().withMessage(userMessage("zebra")), "t", { metadata: { colour: "zebra" } });
    const plain = new Checkpointer(log);
    expect(plain.capabilities.searchMethod).toBe("index");
    const warnings = [{ threadId: "t", code: "INCOMPATIBLE", message: expect.stringContaining("option `sealing`") }];
    const scanning = new MemoryLog();
    const other = new Checkpointer(scanning, { sealing: new Sealing({ keyring }) });
    await other.save(AgentState.create(), "t", { metadata: { colour: "zebra" } });
    const answers = [
      await plain.search("zebra"),
      await plain.queryByMetadata("colour", "zebra"),
      await new Checkpointer(scanning).queryByMetadata("colour", "zebra"),
    ];
    for (const found of answers) expect(found).toMatchObject({ length: 0, warnings });
    expect((await sealed.search("giraffe")).warnings).toEqual([]);
    await sealed.delete("t");
    await plain.save(AgentState.create().withMessage(userMessage("zebra")), "t");
    let lists = 0;
    const listThreads = log.listThreads.bind(log);
    log.listThreads = (query) => {
      lists++;
      return listThreads(query);
    };
    for (let at = 0; at < 5; at++) expect((await plain.search("giraffe")).warnings).toEqual([]);
    expect(lists).toBe(1);
  });

  test("a plain record where only sealed ones are read is refused and named, and so is a sealed one without its keyring", async () => {
    const { log, checkpointer } = await place();
    const plain = new Checkpointer(log);
    await plain.save(AgentState.create(), "t");
    await expect(checkpointer.load("t")).rejects.toMatchObject({
      code: "CORRUPT",
      message: expect.stringMatching(/record 1 of thread "t" is not sealed/),
    });
    await checkpointer.save(AgentState.create(), "u");
    await expect(plain.load("u"), "a reader without a keyring is told what it is").rejects.toMatchObject({
      code: "INCOMPATIBLE",
      message: expect.stringMatching(/is sealed: it is not damaged/),
    });
    const { keyring } = await sampleKeyring();
    const stranger = new Checkpointer(log, { sealing: new Sealing({ keyring }) });
    const refusal = {
      code: "PERMISSION_DENIED",
      message: expect.stringMatching(/sealed with the key .* not in the keyring/),
    };
    await expect(stranger.load("u")).rejects.toMatchObject(refusal);
    const before = await bytesOf(log);
    await expect(stranger.save(AgentState.create(), "u")).rejects.toMatchObject({ code: expect.any(String) });
    expect(await bytesOf(log), "nothing is overwritten").toBe(before);
  });

  test("tenants have keys of their own, and one's record in another's place does not open", async () => {
    const { keyring } = await sampleKeyring();
    const log = new MemoryLog();
    const sealing = new Sealing({ keyring, tenant: (threadId) => threadId.split("/")[0] ?? "" });
    const sealed = sealing.over(log);
    for (const tenant of ["one", "two"]) {
      await new Checkpointer(new PrefixLog(sealed, `${tenant}/`)).save(AgentState.create(), "t");
    }
    const keys = await Promise.all(["one", "two"].map((tenant) => keyring.tenantKey(tenant, { isNew: false })));
    expect(new Set(keys.map((key) => key?.id)).size).toBe(2);
    const [one, two] = await Promise.all(["one/t", "two/t"].map((id) => log.readTail(id)));
    expect(one?.records[0]?.header.split(".")[1]).toBe(keys[0]?.id);
    expect(two?.records[0]?.header.split(".")[1]).toBe(keys[1]?.id);
  });
});

describe("a person's key that was destroyed", () => {
  const conversation = AgentState.create({ metadata: { subject: "ada", goal: "zebra-goal" } })
    .withMessage(userMessage("zebra-one"))
    .withMessage(assistantMessage("asks", { toolCalls: [{ id: "c1", name: "look", arguments: { at: "zebra-two" } }] }))
    .withMessage(toolMessage("zebra-three", { toolCallId: "c1", toolName: "look" }))
    .withMessage(about("bob", "lion-four"))
    .withMessage({ ...assistantMessage("tiger-five"), metadata: { subject: [] } });

  test("leaves a thread that loads, with what was about others and about no person", async () => {
    const { keyring, checkpointer } = await place();
    await checkpointer.save(conversation, "t", { metadata: { subject: "ada", label: "first" } });
    await destroy(keyring, "ada");
    const loaded = await checkpointer.load("t");
    expect(JSON.stringify(loaded?.toCheckpoint())).not.toContain("zebra");
    expect(loaded?.messages.map(({ content }) => content)).toEqual([
      "[erased]",
      "[erased]",
      "[erased]",
      "lion-four",
      "tiger-five",
    ]);
    expect(loaded?.messages[1]).toMatchObject({ toolCalls: [{ id: "c1", name: "look", arguments: {} }] });
    expect(loaded?.metadata["subject"]).toEqual([]);
    expect((await checkpointer.listCheckpoints("t"))[0]?.metadata).toEqual({ label: "[erased]", subject: [] });
    expect(await checkpointer.verify("t")).toMatchObject({ faults: [] });
  });

  test("a change of any byte of a body is noticed, also of one that cannot be opened any more", async () => {
    const { keyring, sealing, log, checkpointer } = await place();
    await checkpointer.save(conversation, "t");
    await destroy(keyring, "ada");
    let [flipped, bytes] = [-1, 0];
    const damaging = new (class extends ReferenceLog {
      override async readTail(threadId: string): Promise<LogChain | undefined> {
        const chain = await super.readTail(threadId);
        return chain && { ...chain, records: chain.records.map((record) => ({ ...record, body: flip(record.body) })) };
      }
    })(log);
    const flip = (body: Uint8Array): Uint8Array => {
      bytes = body.byteLength;
      return body.map((byte, index) => (index === flipped ? byte ^ 4 : byte));
    };
    const load = () => new Checkpointer(damaging, { sealing }).load("t");
    expect((await load())?.messages).toHaveLength(5);
    for (flipped of places(bytes)) {
      await expect(load(), `byte ${flipped}`).rejects.toMatchObject({ code: "CORRUPT" });
    }
  });

  test("in deltas, too: what a thread is about is known without reading it again", async () => {
    const { keyring, checkpointer, log, sealing } = await place();
    let state = AgentState.create({ metadata: { subject: "ada" } }).withMessage(userMessage("zebra-0"));
    await checkpointer.save(state, "t");
    for (let turn = 1; turn < 5; turn++) {
      // Each time as another process would: nothing is remembered of the thread.
      const other = new Checkpointer(log, { sealing });
      const loaded = turn % 2 === 0 ? await other.load("t") : undefined;
      state = (loaded ?? state).withMessage(userMessage(`zebra-${turn}`));
      await other.save(state, "t");
    }
    await destroy(keyring, "ada");
    const loaded = await checkpointer.load("t");
    expect(loaded?.messages.map(({ content }) => content)).toEqual(Array(5).fill("[erased]"));
  });

  test("what is about two people is gone with either of them", async () => {
    for (const gone of ["ada", "bob"]) {
      const { keyring, checkpointer } = await place();
      const both = { ...userMessage("zebra-both"), metadata: { subject: ["ada", "bob"] } };
      const state = AgentState.create({ metadata: { note: attributed(["ada", "bob"], "zebra-note") } })
        .withMessage(both)
        .withMessage(about("ada", "of-ada"))
        .withMessage(about("bob", "of-bob"));
      await checkpointer.save(state, "t");
      await destroy(keyring, gone);
      const left = (await checkpointer.load("t"))?.messages.map(({ content }) => content);
      expect(left).toEqual(gone === "ada" ? ["[erased]", "[erased]", "of-bob"] : ["[erased]", "of-ada", "[erased]"]);
      expect(JSON.stringify((await checkpointer.load("t"))?.metadata)).not.toContain("zebra");
    }
  });

  test("copies, forks, deletions and new saves carry what is gone as erased, and the rest as it was", async () => {
    const { keyring, checkpointer } = await place();
    const first = await checkpointer.save(conversation, "t");
    const second = conversation.withMessage(about("bob", "lion-six"));
    await checkpointer.save(second, "t");
    await destroy(keyring, "ada");
    await checkpointer.copyThread("t", "copy");
    await checkpointer.fork("t", "fork");
    await checkpointer.delete("t", first);
    const loaded = await checkpointer.load("t");
    await checkpointer.save((loaded as AgentState).withMessage(userMessage("seven")), "t");
    for (const threadId of ["t", "copy", "fork"]) {
      const state = await checkpointer.load(threadId);
      expect(JSON.stringify(state?.toCheckpoint()), threadId).not.toContain("zebra");
      expect(
        state?.messages.slice(0, 6).map(({ content }) => content),
        threadId,
      ).toEqual(["[erased]", "[erased]", "[erased]", "lion-four", "tiger-five", "lion-six"]);
      expect(await checkpointer.verify(threadId), threadId).toMatchObject({ faults: [] });
    }
    await destroy(keyring, "bob");
    expect((await checkpointer.load("copy"))?.messages[3]?.content, "a copy is sealed for whom it is about").toBe(
      "[erased]",
    );
  });

  test("a person who comes back has another key, and what was erased stays so", async () => {
    const { keyring, checkpointer } = await place();
    await checkpointer.save(AgentState.create().withMessage(about("ada", "before")), "old");
    await destroy(keyring, "ada");
    await checkpointer.save(AgentState.create().withMessage(about("ada", "after")), "new");
    expect((await checkpointer.load("old"))?.messages[0]?.content).toBe("[erased]");
    expect((await checkpointer.load("new"))?.messages[0]?.content).toBe("after");
  });

  test("a key that was lost is not one that was destroyed: it is an error, and nothing is written", async () => {
    const { checkpointer, log, options } = await place();
    await checkpointer.save(AgentState.create().withMessage(about("ada", "text")), "t");
    for (const { namespace, key } of await options.store.list(["holdfast:keys", "people"])) {
      await options.store.delete(namespace, key);
    }
    const sealing = new Sealing({ keyring: await Keyring.open(options) });
    const before = await bytesOf(log);
    await expect(new Checkpointer(log, { sealing }).load("t")).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    expect(await bytesOf(log)).toBe(before);
  });
});
