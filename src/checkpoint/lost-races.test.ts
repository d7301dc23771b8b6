import { afterEach, expect, test, vi } from "vitest";
import { MemoryLog } from "../backends/memory/log.ts";
import { CheckpointContext } from "./context.ts";
import { LostRaces } from "./lost-races.ts";

afterEach(() => vi.restoreAllMocks());

const newRaces = (): LostRaces => new LostRaces(new CheckpointContext(new MemoryLog(), {}), "vacuum", "busy");

test("B2: whoever loses every race against other writers is told after a thousand of them", () => {
  vi.spyOn(performance, "now").mockReturnValue(0);
  const races = newRaces();
  for (let lost = 1; lost < 1000; lost++) races.lost();
  expect(() => races.lost()).toThrow(/vacuum of thread "busy" came too late every time/);
});

test("B2: on a storage that is slow, whoever loses every race is told after five seconds", () => {
  const clock = vi.spyOn(performance, "now").mockReturnValue(0);
  const races = newRaces();
  clock.mockReturnValue(4_999);
  for (let lost = 1; lost < 20; lost++) races.lost();
  clock.mockReturnValue(5_000);
  expect(() => races.lost()).toThrow(
    expect.objectContaining({ code: "CONFLICT", context: expect.objectContaining({ written: "no" }) }),
  );
});

test("races that are lost after the storage was away for long are not the last, unless they are many", () => {
  const clock = vi.spyOn(performance, "now").mockReturnValue(0);
  const races = newRaces();
  clock.mockReturnValue(60_000);
  for (let lost = 1; lost <= 4; lost++) races.lost();
  expect(() => races.lost()).toThrow(expect.objectContaining({ code: "CONFLICT" }));
});
