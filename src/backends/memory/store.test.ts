import { afterAll, test } from "vitest";
import { manualClock } from "../../testing/manual-clock.ts";
import { testStore } from "../../testing/test-store.ts";
import { InMemoryStore } from "./store.ts";

testStore({
  name: "memory",
  test,
  afterAll,
  create: async () => {
    const clock = manualClock();
    return { subject: new InMemoryStore({ now: clock.now }), clock };
  },
});
