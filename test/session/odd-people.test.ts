import { expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { sampleKeyring } from "../sealing/sample-keyring.ts";
import { KEY } from "./people.ts";

/** Halves of pairs, as a name that was cut in the middle of a sign has them; and the sign that stands for such a half. */
const PEOPLE = ["ada\ud83d", "ada\ud83e", "ada\ufffd", "a".repeat(5000), "__proto__", "é", "e\u0301", " "];

test.each([["plain"], ["sealed"]])(
  "every subject that can be named can be found and erased, and no other with it (%s)",
  async (how) => {
    const { keyring } = await sampleKeyring({ cacheMs: 0 });
    const options = how === "sealed" ? { sealing: new Sealing({ keyring }) } : {};
    const checkpointer = new Checkpointer(new MemoryLog(), options);
    const data = new PersonalData({ checkpointers: [checkpointer], ledger: new InMemoryStore(), key: KEY });
    for (const [index, subject] of PEOPLE.entries()) {
      await checkpointer.save(
        AgentState.create().withMessage(userMessage("text", { metadata: { subject } })),
        `${index}`,
      );
    }
    for (const [index, subject] of PEOPLE.entries()) {
      expect((await data.inventory(subject)).places.map(({ kind }) => kind)).toContain("message");
      await data.eraseUser(subject);
      const left: unknown[] = [];
      for (const thread of PEOPLE.keys()) left.push((await checkpointer.load(`${thread}`))?.messages[0]?.content);
      expect(left).toEqual(PEOPLE.map((_, each) => (each <= index ? "[erased]" : "text")));
    }
  },
);

test.each([["plain"], ["sealed"]])(
  "every subject that can be named can be held, and erased once the hold is lifted (%s)",
  async (how) => {
    const { keyring } = await sampleKeyring({ cacheMs: 0 });
    const sealing = how === "sealed" ? { sealing: new Sealing({ keyring }) } : {};
    const checkpointer = new Checkpointer(new MemoryLog(), sealing);
    const store = new InMemoryStore();
    const data = new PersonalData({
      checkpointers: [checkpointer],
      stores: [store],
      ledger: new InMemoryStore(),
      key: KEY,
      ...(how === "sealed" && { keyrings: [keyring] }),
    });
    for (const [index, subject] of PEOPLE.entries()) {
      const said = AgentState.create().withMessage(userMessage("text", { metadata: { subject } }));
      await checkpointer.save(said, `${index}`);
      await store.put(["notes"], `${index}`, "note", { metadata: { subject } });
    }
    for (const subject of PEOPLE) {
      const { id } = await data.placeHold({ subject, by: "counsel", reason: "case-17" });
      const own = PEOPLE.indexOf(subject);
      await expect(checkpointer.delete(`${own}`)).rejects.toMatchObject({ code: "HELD" });
      await expect(store.delete(["notes"], `${own}`)).rejects.toMatchObject({ code: "HELD" });
      await expect(data.eraseUser(subject)).rejects.toMatchObject({ code: "HELD" });
      await data.liftHold(id, { by: "counsel", reason: "over" });
      await data.eraseUser(subject);
      const left: unknown[] = [];
      for (const thread of PEOPLE.keys()) left.push((await checkpointer.load(`${thread}`))?.messages[0]?.content);
      expect(left).toEqual(PEOPLE.map((_, each) => (each <= own ? "[erased]" : "text")));
    }
  },
);
