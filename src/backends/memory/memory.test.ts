import { expect, test } from "vitest";
import { AgentState } from "../../state/agent-state.ts";
import { MemoryCheckpointer } from "./index.ts";

test("two memory checkpointers share nothing", async () => {
  const [one, other] = [new MemoryCheckpointer(), new MemoryCheckpointer()];
  await one.save(AgentState.create(), "t");
  expect(await other.load("t")).toBeUndefined();
});
