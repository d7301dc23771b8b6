import { describe, test } from "vitest";
import { describeWithService } from "../services/with-service.ts";
import { DISK_BACKENDS } from "./disk-backends.ts";
import { sharedOnDisk, sharedOnServer } from "./shared-storage.ts";
import { wakeSleepers } from "./sleeping-agent.ts";

const SAMPLE = 3;
const NAME = "a process that slept between the claim of a call and the call does not act when it wakes";

describe.each(DISK_BACKENDS)("%s:", (backend) => {
  test(NAME, async () => {
    const storage = await sharedOnDisk(backend);
    await wakeSleepers(storage.url, SAMPLE);
    await storage.dispose();
  });
});

// `npm test` has the server of the npm package; three minutes are for what needs none.
const SERVERS = process.env["HOLDFAST_TIER"] === "fast" ? [] : (["postgres", "redis"] as const);

for (const backend of SERVERS) {
  await describeWithService(backend, (server) => {
    test(NAME, () => wakeSleepers(sharedOnServer(server).url, SAMPLE));
  });
}
