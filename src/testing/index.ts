/** Models that need no network, a clock that stands still, a driver that fails on request, and what a history must be like. */
export {
  atCall,
  type DriverCall,
  type Fault,
  FaultyLog,
  type FaultyLogOptions,
  InjectedFault,
} from "./faulty-log.ts";
export { type ManualClock, manualClock } from "./manual-clock.ts";
export { assertValidForAnthropic, assertValidForOpenAI } from "./models/history-validators.ts";
export * from "./models/rule-model.ts";
export * from "./models/scripted-model.ts";
