import { afterAll, beforeAll, expect, test } from "vitest";
import { openCheckpointer } from "../../src/backends/open.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { textOf, userMessage } from "../../src/state/message.ts";
import { Programs } from "./programs.ts";
import { sharedOnDisk } from "./shared-storage.ts";

const PROGRAM = "cloned-writer-program";
let programs: Programs;
beforeAll(async () => {
  programs = await Programs.bundle(PROGRAM);
});
afterAll(() => programs.dispose());

test.each(["sqlite", "file"] as const)(
  "%s: of two clones of a machine, whose randomness is the same, the second to save is told CONFLICT, and never that it saved",
  async (backend) => {
    const storage = await sharedOnDisk(backend);
    const before = await openCheckpointer(storage.url);
    await before.save(AgentState.create().withMessage(userMessage("before")), "t");
    const clones = ["one", "other"].map((text) => programs.start(PROGRAM, [storage.url, text]));
    for (const clone of clones) await clone.hasSaid(1);
    const [drawn, again] = clones.map(({ said }) => said[0]);
    expect(again, "the clones are clones").toBe(drawn);
    for (const clone of clones) {
      clone.tell("save");
      expect(await clone.ended()).toEqual({ code: 0, signal: null });
    }
    expect(clones.map(({ said }) => said[1])).toEqual(["saved", "CONFLICT"]);
    expect((await before.load("t"))?.messages.map(textOf)).toEqual(["before", "one"]);
    await before.close();
    await storage.dispose();
  },
);
