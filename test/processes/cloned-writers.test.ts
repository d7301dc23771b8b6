import { afterAll, beforeAll, expect, test } from "vitest";
import { openCheckpointer } from "../../src/backends/open.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, textOf, userMessage } from "../../src/state/message.ts";
import { Programs } from "./programs.ts";
import { sharedOnDisk } from "./shared-storage.ts";

const PROGRAM = "cloned-writer-program";
let programs: Programs;
beforeAll(async () => {
  programs = await Programs.bundle(PROGRAM);
});
afterAll(() => programs.dispose());

test.each(["sqlite", "file"] as const)(
  "%s: of two clones of a machine, whose randomness is the same, the second to save is told CONFLICT, and what both send or do elsewhere is not taken for one thing",
  async (backend) => {
    const storage = await sharedOnDisk(backend);
    const before = await openCheckpointer(storage.url);
    await before.save(AgentState.create().withMessage(userMessage("before")), "t");
    const call = { id: "call", name: "pay", arguments: {} };
    const asked = AgentState.create().withMessage(assistantMessage("", { toolCalls: [call] }));
    const execution = { toolCallId: "call", toolName: "pay", status: "intended" } as const;
    await before.save(asked.withToolExecution(execution), "with a call");
    const clones = ["one", "other"].map((text) => programs.start(PROGRAM, [storage.url, text]));
    for (const clone of clones) await clone.hasSaid(1);
    const [drawn, again] = clones.map(({ said }) => said[0]);
    expect(again, "the clones are clones").toBe(drawn);
    let heard = 1;
    /** What each answers to a word, one after the other. */
    const told = async (word: string): Promise<readonly unknown[]> => {
      heard++;
      for (const clone of clones) {
        clone.tell(word);
        await clone.hasSaid(heard);
      }
      return clones.map(({ said }) => said[heard - 1]);
    };
    expect(await told("save")).toEqual(["saved", "CONFLICT"]);
    expect((await before.load("t"))?.messages.map(textOf)).toEqual(["before", "one"]);
    expect(await told("send")).toEqual(["sent", "sent"]);
    const waiting = await before.signals("t");
    expect(waiting.map((signal) => signal.kind === "message" && textOf(signal.message))).toEqual(["one", "other"]);
    const [key, ofOther] = await told("call");
    expect(key).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(ofOther, "calls on two threads are two to the service that is called").not.toBe(key);
    expect(new Set(await told("fork")).size, "and so are those of two forks").toBe(2);
    for (const clone of clones) {
      clone.tell("end");
      expect(await clone.ended()).toEqual({ code: 0, signal: null });
    }
    await before.close();
    await storage.dispose();
  },
);
