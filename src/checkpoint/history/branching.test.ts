import { expect, test } from "vitest";
import { AlteredLog } from "../../../test/altered-log.ts";
import { failureOf } from "../../../test/failure-of.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { Checkpointer } from "../checkpointer.ts";

test("a fork proves the tail it forks from: one that points at an older checkpoint is CORRUPT, not an older state", async () => {
  const log = new AlteredLog();
  const checkpointer = new Checkpointer(log);
  let state = AgentState.create();
  for (const text of ["first", "second", "third"]) {
    state = state.withMessage(userMessage(text));
    await checkpointer.save(state, "t");
  }
  log.alter = (entry) => (entry.seq === 3 ? { ...entry, head: 2 } : entry);
  expect(await failureOf(() => checkpointer.fork("t", "u"))).toMatchObject({ code: "CORRUPT" });
  expect(await checkpointer.exists("u")).toBe(false);
  log.alter = (entry) => entry;
  await checkpointer.fork("t", "u");
  expect((await checkpointer.load("u"))?.messages).toHaveLength(3);
});
