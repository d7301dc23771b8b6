/** Models that need no network, a clock that stands still, a driver that fails on request, and what a history must be like. */
export {
  atCall,
  type DriverCall,
  type Fault,
  FaultyLog,
  type FaultyLogOptions,
  InjectedFault,
} from "../testing/faulty-log.ts";
export { type ManualClock, manualClock } from "../testing/manual-clock.ts";
export { assertValidForAnthropic, assertValidForOpenAI } from "../testing/models/history-validators.ts";
export * from "../testing/models/rule-model.ts";
export * from "../testing/models/scripted-model.ts";
