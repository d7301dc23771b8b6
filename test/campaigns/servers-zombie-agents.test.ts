import { test } from "vitest";
import { SERVER_BACKENDS } from "../network/network-backends.ts";
import { sharedOnServer } from "../processes/shared-storage.ts";
import { wakeSleepers } from "../processes/sleeping-agent.ts";
import { describeWithService } from "../services/with-service.ts";
import { reportCampaign } from "./report.ts";

const TIMES = 50;

for (const backend of SERVER_BACKENDS) {
  await describeWithService(backend, (server) => {
    test("an agent that slept before a call never acts when it wakes", async () => {
      const began = performance.now();
      await wakeSleepers(sharedOnServer(server).url, TIMES);
      reportCampaign(`zombie agents, ${backend}`, began, "no effect of a woken one", { "agents stopped": TIMES });
    });
  });
}
