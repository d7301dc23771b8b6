import { expect, test } from "vitest";
import { failureOf } from "../../test/failure-of.ts";
import { ServerClock } from "./server-clock.ts";

const AHEAD = 1_700_000_000_400;
const dateAt = (ms: number): string => new Date(ms).toUTCString();

/** A clock of this machine that a test moves, and a server that is ahead of it. */
function withServer() {
  let local = 5_000;
  const clock = new ServerClock(() => local);
  const pass = (ms: number): void => {
    local += ms;
  };
  const request = async (): Promise<void> => {
    const answered = clock.ask();
    pass(20);
    answered(dateAt(local + AHEAD));
    pass(20);
  };
  return { clock, pass, request, actual: () => local + AHEAD };
}

test("one answer tells the time to within a second, and several narrow it down", async () => {
  const { clock, pass, request, actual } = withServer();
  expect(Math.abs((await clock.now(request)) - actual())).toBeLessThan(600);
  for (let turn = 0; turn < 30; turn++) {
    await request();
    pass(137);
  }
  pass(3_000);
  expect(Math.abs((await clock.now(request)) - actual())).toBeLessThan(60);
});

test("it never goes back, and follows a clock that was set forward", async () => {
  const { clock, pass, request, actual } = withServer();
  let last = 0;
  for (let turn = 0; turn < 20; turn++) {
    const now = await clock.now(request);
    expect(now).toBeGreaterThanOrEqual(last);
    last = now;
    await request();
    pass(50);
  }
  clock.ask()(dateAt(actual() + 86_400_000));
  expect(Math.abs((await clock.now(request)) - actual() - 86_400_000)).toBeLessThan(1_100);
  clock.ask()(dateAt(actual()));
  expect(await clock.now(request)).toBeGreaterThanOrEqual(actual() + 86_000_000);
});

test("answers without a date are no clock", async () => {
  const clock = new ServerClock(() => 0);
  const failure = await failureOf(() => clock.now(async () => clock.ask()(undefined)));
  expect(failure).toMatchObject({ code: "UNSUPPORTED" });
});
