import { describe, expect, test } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { LOCAL_BACKENDS } from "../../../test/local-backends.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";

describe.each(LOCAL_BACKENDS.filter(({ name }) => name !== "dict storage"))("on $name", ({ create }) => {
  test("a lease is seen by every process, broken once, and its holder's next save is refused", async () => {
    const storage = await create();
    try {
      const [holder, other] = [storage.open(), storage.open()];
      const state = AgentState.create().withMessage(userMessage("hello"));
      await holder.save(state, "t");
      expect(await other.leaseOf("t")).toBe(undefined);
      expect(await other.leaseOf("not there")).toBe(undefined);
      const work = holder.withLease(
        "t",
        async (lease) => {
          const seen = await other.leaseOf("t");
          expect(seen).toMatchObject({ owner: "worker", token: lease.token });
          expect((await failureOf(() => other.breakLease("t", { ifToken: "another" }))).code).toBe("CONFLICT");
          expect(await other.breakLease("t", { ifToken: lease.token })).toBe(true);
          expect(await other.breakLease("t")).toBe(false);
          expect(await other.leaseOf("t")).toBe(undefined);
          await other.save((await other.load("t")) ?? state, "t");
          await holder.save(state, "t", { lease });
        },
        { owner: "worker", ttlMs: 600_000 },
      );
      expect((await failureOf(() => work)).code).toBe("CONFLICT");
      // Each holding has a token of its own.
      const broken = await other.withLease("t", async ({ token }) => token);
      expect(await other.withLease("t", async ({ token }) => token)).not.toBe(broken);
      expect((await failureOf(() => other.breakLease("t", { ifToken: "" }))).code).toBe("INVALID_ARGUMENT");
    } finally {
      await storage.dispose();
    }
  });
});
