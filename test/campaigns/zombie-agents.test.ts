import { test } from "vitest";
import { DISK_BACKENDS } from "../processes/disk-backends.ts";
import { sharedOnDisk } from "../processes/shared-storage.ts";
import { wakeSleepers } from "../processes/sleeping-agent.ts";
import { reportCampaign } from "./report.ts";

const TIMES = 50;

test.each(DISK_BACKENDS)("%s: an agent that slept before a call never acts when it wakes", async (backend) => {
  const began = performance.now();
  const storage = await sharedOnDisk(backend);
  await wakeSleepers(storage.url, TIMES);
  await storage.dispose();
  reportCampaign(`zombie agents, ${backend}`, began, "no effect of a woken one", { "agents stopped": TIMES });
});
