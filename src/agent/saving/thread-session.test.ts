import { describe, expect, test } from "vitest";
import { gate } from "../../../test/agent/gate.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { ThreadSession } from "./thread-session.ts";

/** A storage that takes as long as a test wants, and notes how many messages each save brought. */
function slowStorage(): {
  save: (state: AgentState) => Promise<string>;
  saved: number[];
  begun: () => Promise<void>;
  next: () => Promise<void>;
} {
  const saved: number[] = [];
  let arrived = gate();
  let release = gate();
  return {
    saved,
    save: async (state) => {
      arrived.open();
      await release.opened;
      saved.push(state.messages.length);
      return `checkpoint ${saved.length}`;
    },
    begun: () => arrived.opened,
    /** Waits until a save is under way and lets it finish. */
    next: async () => {
      await arrived.opened;
      const done = release;
      [arrived, release] = [gate(), gate()];
      done.open();
    },
  };
}

const say = (session: ThreadSession, text = "word"): void =>
  session.change((state) => state.withMessage(userMessage(text)));

test("a save brings everything that was changed before it", async () => {
  const storage = slowStorage();
  const session = new ThreadSession(AgentState.create(), storage);
  say(session);
  say(session);
  const saving = session.save();
  await storage.next();
  await saving;
  expect(storage.saved).toEqual([2]);
  expect(session.checkpointId).toBe("checkpoint 1");
});

test("saves that are asked for while one is under way share the next", async () => {
  const storage = slowStorage();
  const session = new ThreadSession(AgentState.create(), storage);
  say(session);
  const first = session.save();
  await storage.begun();
  const others = [1, 2, 3].map(() => {
    say(session);
    return session.save();
  });
  await storage.next();
  await first;
  await storage.next();
  await Promise.all(others);
  expect(storage.saved).toEqual([1, 4]);
});

test("a save that was asked for after a change does not end with an earlier one", async () => {
  const storage = slowStorage();
  const session = new ThreadSession(AgentState.create(), storage);
  say(session);
  const first = session.save();
  await storage.begun();
  say(session);
  let isDone = false;
  const second = session.save().then(() => {
    isDone = true;
  });
  await storage.next();
  await first;
  expect(isDone).toBe(false);
  await storage.next();
  await second;
});

test("nothing is written where nothing changed", async () => {
  let writes = 0;
  const count = async (): Promise<string> => String(++writes);
  const session = new ThreadSession(AgentState.create(), { save: count });
  await session.save();
  say(session);
  await session.save();
  await session.save();
  expect(writes).toBe(1);
});

describe("a save that fails", () => {
  test("fails for every caller that shares it, and the next one is tried anew", async () => {
    let fails = true;
    const session = new ThreadSession(AgentState.create(), {
      save: async ({ messages }) => {
        if (fails) throw new Error("disk full");
        return `with ${messages.length}`;
      },
    });
    say(session);
    const outcomes = await Promise.allSettled([session.save(), session.save()]);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    fails = false;
    await session.save();
    expect(session.checkpointId).toBe("with 1");
  });
});

test("without a storage, changes are kept and saving does nothing", async () => {
  const session = new ThreadSession(AgentState.create(), undefined);
  say(session);
  await session.save();
  expect(session.state.messages).toHaveLength(1);
  expect(session.checkpointId).toBeUndefined();
});
