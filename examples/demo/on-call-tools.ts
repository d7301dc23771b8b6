import { setTimeout as sleep } from "node:timers/promises";
import { type Tool, tool } from "holdfast";
import { readEffects, takeEffect } from "./outside-world.ts";

const INCIDENTS = [
  { day: 2, service: "checkout-api", what: "p99 above 2 s for 11 minutes after a deploy; rolled back" },
  { day: 9, service: "search-api", what: "error rate 4 % while an index was rebuilt" },
];

const service = { type: "string", description: "For example checkout-api" };

/** What the agent can do. `folder` is where the outside world keeps its books. */
export const onCallTools = (folder: string): readonly Tool[] => [
  tool({
    name: "search_incidents",
    description: "Incidents of the last fortnight of one service.",
    inputSchema: { type: "object", properties: { service }, required: ["service"] },
    effect: "pure",
    execute: (input) => {
      const wanted = (input as { service: string }).service;
      const found = INCIDENTS.filter((incident) => incident.service === wanted);
      return found.map(({ day, what }) => `${day} days ago: ${what}`).join("\n") || "none";
    },
  }),
  tool({
    name: "page_owner",
    description: "Wakes the person on call. Must not be done twice.",
    inputSchema: { type: "object", properties: { service }, required: ["service"] },
    effect: "atMostOnce",
    execute: async (input, { idempotencyKey }) => {
      await takeEffect(folder, `paged the owner of ${(input as { service: string }).service}`, idempotencyKey);
      return "Mara is on her way.";
    },
  }),
  tool({
    name: "roll_back_deploy",
    description: "Takes the last deploy of a service back and waits until that is done everywhere.",
    inputSchema: {
      type: "object",
      properties: { service, deployedAt: { type: "string" } },
      required: ["service", "deployedAt"],
    },
    effect: "atMostOnce",
    execute: async (input, { idempotencyKey, signal }) => {
      const { service: which, deployedAt } = input as { service: string; deployedAt: string };
      await takeEffect(folder, `rolled back the ${deployedAt} deploy of ${which}`, idempotencyKey);
      await sleep(60_000, undefined, { signal });
      return "Rolled back everywhere.";
    },
    // After a crash this process cannot tell whether it was done. The deploy system can: it was given
    // the key.
    verify: async (_, { idempotencyKey }) => {
      const isKnown = (await readEffects(folder)).some((effect) => effect.idempotencyKey === idempotencyKey);
      return isKnown ? { outcome: "done", result: "Rolled back everywhere." } : { outcome: "not-done" };
    },
  }),
];
