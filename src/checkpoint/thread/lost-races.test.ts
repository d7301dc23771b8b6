import { afterEach, expect, test, vi } from "vitest";
import { MemoryLog } from "../../backends/memory/log.ts";
import { CheckpointContext } from "../context.ts";
import { LostRaces } from "./thread.ts";

afterEach(() => vi.restoreAllMocks());

const newRaces = (): LostRaces => new LostRaces(new CheckpointContext(new MemoryLog(), {}), "vacuum", "busy");

test("a save that loses every race against other writers is refused after a thousand of them", () => {
  vi.spyOn(performance, "now").mockReturnValue(0);
  const races = newRaces();
  for (let lost = 1; lost < 1000; lost++) races.lost();
  expect(() => races.lost()).toThrow(/vacuum of thread "busy" lost 1000 compare-and-set attempts/);
});

test("on a slow storage, a save that loses every race is refused five seconds after the first", () => {
  const clock = vi.spyOn(performance, "now").mockReturnValue(0);
  const races = newRaces();
  clock.mockReturnValue(60_000);
  for (let lost = 1; lost < 100; lost++) races.lost();
  clock.mockReturnValue(64_999);
  races.lost();
  clock.mockReturnValue(65_000);
  expect(() => races.lost()).toThrow(
    expect.objectContaining({ code: "CONFLICT", context: expect.objectContaining({ written: "no" }) }),
  );
});

test("29 races may be lost however long they take, and not 30", () => {
  const clock = vi.spyOn(performance, "now");
  const races = newRaces();
  for (let lost = 1; lost < 30; lost++) {
    clock.mockReturnValue(lost * 60_000);
    races.lost();
  }
  expect(() => races.lost()).toThrow(/lost 30 compare-and-set attempts/);
});
