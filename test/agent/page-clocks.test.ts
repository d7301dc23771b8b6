import { expect, test, vi } from "vitest";
import { followTurn } from "../../src/agent/page/following.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { MemoryStore } from "./stored-thread.ts";

test("however often a thread changes that a page follows, no clock and no listener is left behind", async () => {
  const store = new MemoryStore();
  const checkpointer = store.open();
  let state = AgentState.create().withMessage(userMessage("go"));
  await checkpointer.save(state, "t");
  // Here no clock ever strikes, however busy the machine is.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const stop = new AbortController();
  const shown = (async () => {
    for await (const _ of followTurn(checkpointer, "t", { signal: stop.signal }));
  })();
  try {
    for (let n = 0; n < 15; n++) {
      state = state.withMetadata({ n });
      await checkpointer.save(state, "t");
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(vi.getTimerCount(), "clocks of a page that waits").toBeLessThanOrEqual(1);
    stop.abort();
    await shown;
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});
