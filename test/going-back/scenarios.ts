import { agentScenarios } from "./agent-scenarios.ts";
import { checkpointerScenarios, vacuumScenario } from "./checkpointer-scenarios.ts";
import { graphScenarios } from "./graph-scenarios.ts";
import { itemScenarios } from "./item-scenarios.ts";
import type { Scenario } from "./world.ts";

/** Everything that a live process does with a storage, before and after it went back in time. */
export const SCENARIOS: readonly Scenario[] = [
  ...checkpointerScenarios,
  ...agentScenarios,
  ...graphScenarios,
  ...itemScenarios,
  vacuumScenario,
];
