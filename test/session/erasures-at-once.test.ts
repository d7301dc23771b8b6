import { expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { InMemoryStore } from "../../src/backends/memory/store.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { type Gate, gate } from "../agent/gate.ts";
import { sampleKeyring } from "../sealing/sample-keyring.ts";
import { KEY } from "./people.ts";

/** A store whose next reading of the list waits for the gate. */
class PausedStore extends InMemoryStore {
  paused: { readonly reached: Gate; readonly goes: Gate } | undefined;

  override async list(...args: Parameters<InMemoryStore["list"]>): Promise<never> {
    const { paused } = this;
    if (args[0].length === 0) {
      this.paused = undefined;
      paused?.reached.open();
      await paused?.goes.opened;
    }
    return (await super.list(...args)) as never;
  }
}

const said = (text: string, subject: string): AgentState =>
  AgentState.create().withMessage(userMessage(text, { metadata: { subject } }));

test.each([["plain"], ["sealed"]])(
  "two people are erased at once: what one of them gives afterwards stays when the backends are opened again (%s)",
  async (how) => {
    const { keyring } = await sampleKeyring({ cacheMs: 0 });
    const options = how === "sealed" ? { sealing: new Sealing({ keyring }) } : {};
    const checkpointer = new Checkpointer(new MemoryLog(), options);
    const [store, ledger] = [new PausedStore(), new InMemoryStore()];
    const opened = (): PersonalData =>
      new PersonalData({ checkpointers: [checkpointer], stores: [store], ledger, key: KEY });
    for (const subject of ["ann", "bob"]) {
      await checkpointer.save(said("old", subject), subject);
      await store.put(["notes"], subject, "old", { metadata: { subject } });
    }
    store.paused = { reached: gate(), goes: gate() };
    const { reached, goes } = store.paused;
    const slow = opened().eraseUser("ann");
    await reached.opened;
    await opened().eraseUser("bob");
    goes.open();
    await slow;
    await checkpointer.save(said("new", "bob"), "bob again");
    await store.put(["notes"], "bob again", "new", { metadata: { subject: "bob" } });
    await opened().open();
    expect((await checkpointer.load("bob again"))?.messages[0]?.content).toBe("new");
    expect(await store.get(["notes"], "bob again")).toBe("new");
    for (const subject of ["ann", "bob"]) {
      expect((await checkpointer.load(subject))?.messages[0]?.content).toBe("[erased]");
      expect(await store.get(["notes"], subject)).toBeUndefined();
    }
  },
);
