import { describe, expect, test } from "vitest";
import { LOCAL_BACKENDS } from "../../../test/local-backends.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { contextOf } from "../context.ts";

const saying = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));

describe.each(LOCAL_BACKENDS)("on $name", ({ create }) => {
  test("a copy of a leased thread has no holder and can be written", async () => {
    const storage = await create();
    const checkpointer = storage.open();
    await checkpointer.save(saying("mine"), "held");
    await checkpointer.withLease("held", async () => {
      expect(await checkpointer.copyThread("held", "copy")).toBe(true);
      const state = await checkpointer.load("copy");
      await checkpointer.save((state ?? AgentState.create()).withMessage(userMessage("more")), "copy");
    });
    expect((await checkpointer.load("copy"))?.messages).toHaveLength(2);
    await storage.dispose();
  });

  test("a thread that only a lease keeps is nothing to copy", async () => {
    const storage = await create();
    const checkpointer = storage.open();
    await checkpointer.withLease("only leased", async () => {
      expect(await checkpointer.copyThread("only leased", "copy")).toBe(false);
    });
    expect(await checkpointer.exists("copy")).toBe(false);
    await checkpointer.save(saying("free"), "copy");
    await storage.dispose();
  });

  test("a lease for ever is held, and a huge one is not renewed without pause", async () => {
    const storage = await create();
    const [holder, other] = [storage.open(), storage.open()];
    await holder.save(saying("mine"), "t");
    for (const ttlMs of [Number.POSITIVE_INFINITY, 6.5e9]) {
      await holder.withLease(
        "t",
        async () => {
          const position = async () => (await contextOf(holder)?.log.tail("t"))?.entry.seq;
          const before = await position();
          await new Promise((resolve) => setTimeout(resolve, 30));
          await expect(other.withLease("t", async () => "taken")).rejects.toMatchObject({ code: "CONFLICT" });
          expect(await position(), "a renewal is a record").toBe(before);
        },
        { ttlMs },
      );
    }
    await storage.dispose();
  });
});
