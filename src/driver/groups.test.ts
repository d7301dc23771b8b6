import { expect, onTestFinished, test, vi } from "vitest";
import { Groups, type Ways } from "./groups.ts";

const THREADS = Array.from({ length: 16 }, (_, index) => `thread ${index}`);

const groupsOf = (ways: Partial<Ways<string, string>>): Groups<string, string> =>
  new Groups({
    one: async (call) => `${call} alone`,
    many: async (group) => group.map((call) => `${call} shared`),
    mayShare: () => true,
    threadOf: (call) => call,
    bytesOf: () => 1,
    isRefusal: (error) => String(error).includes("refused"),
    ...ways,
  });

test("a call with none in flight goes at once and alone, and those that wait for it go together", async () => {
  const sent: string[] = [];
  let letGo = (): void => undefined;
  const holding = new Promise<string>((resolve) => {
    letGo = () => resolve("answered");
  });
  const groups = groupsOf({
    one: (call) => {
      sent.push(call);
      return holding;
    },
    many: async (group) => {
      sent.push(group.join("+"));
      return group;
    },
  });
  const answers = ["a", "b", "c", "d", "c"].map((call) => groups.call(call));
  expect(sent).toEqual(["a", "b"]);
  letGo();
  expect(await Promise.all(answers)).toEqual(["answered", "answered", "c", "d", "answered"]);
  // Of two calls for one thread the second builds on the first.
  expect(sent).toEqual(["a", "b", "c+d", "c"]);
});

test("a call that hangs holds up no other", async () => {
  const groups = groupsOf({
    one: async (call) => (call === "hangs" ? new Promise<string>(() => undefined) : `${call} alone`),
  });
  void groups.call("hangs");
  void groups.call("hangs");
  const answers = await Promise.all(THREADS.map((call) => groups.call(call)));
  expect(answers).toEqual(THREADS.map((call) => `${call} shared`));
});

test("a call that cannot be batched goes alone, and so does one that its batch left out", async () => {
  const groups = groupsOf({
    mayShare: (call) => call !== "thread 5",
    many: async (group) => group.map((call) => (call === "thread 7" ? undefined : `${call} shared`)),
  });
  const answers = await Promise.all(THREADS.map((call) => groups.call(call)));
  expect(answers.filter((answer) => answer.endsWith("alone"))).toEqual(
    ["thread 0", "thread 1", "thread 5", "thread 7"].map((call) => `${call} alone`),
  );
});

test("a batch that is refused is made one by one; if its outcome is unknown, it is unknown for every call in it", async () => {
  const refused = groupsOf({ many: () => Promise.reject(new Error("refused")) });
  expect(await Promise.all(THREADS.map((call) => refused.call(call)))).toEqual(THREADS.map((call) => `${call} alone`));
  const cut = groupsOf({ many: () => Promise.reject(new Error("cut")) });
  const answers = await Promise.allSettled(THREADS.map((call) => cut.call(call)));
  expect(answers.map(({ status }) => status)).toEqual([
    "fulfilled",
    "fulfilled",
    ...THREADS.slice(2).map(() => "rejected"),
  ]);
});

test("a group has a bound in bytes, and a call above it goes by itself", async () => {
  const sizes: number[] = [];
  const groups = groupsOf({
    bytesOf: () => 400 * 1024,
    many: async (group) => {
      sizes.push(group.length);
      return group;
    },
  });
  await Promise.all(THREADS.map((call) => groups.call(call)));
  expect(Math.max(...sizes)).toBe(2);
});

test("with gathers, calls of one turn go together from the first on, and a single call goes alone", async () => {
  const sent: string[] = [];
  const groups = groupsOf({
    gathers: "turn",
    most: 2,
    mayShare: (call) => call !== "own",
    one: async (call) => {
      sent.push(call);
      return call;
    },
    many: async (group) => {
      sent.push(group.join("+"));
      return group;
    },
  });
  const calls = ["a", "b", "own", "c", "d", "e"];
  expect(await Promise.all(calls.map((call) => groups.call(call)))).toEqual(calls);
  expect(sent).toEqual(["own", "a+b", "c+d", "e"]);
  expect(await groups.call("f")).toBe("f");
  expect(sent.at(-1)).toBe("f");
});

test("with gathers, calls that hang hold up no others", async () => {
  const isHanging = (call: string): boolean => call.startsWith("hangs");
  const groups = groupsOf({
    gathers: "turn",
    mayShare: (call) => !isHanging(call),
    one: async (call) => (isHanging(call) ? new Promise<string>(() => undefined) : `${call} alone`),
  });
  const answers = THREADS.map((call) => groups.call(call));
  void groups.call("hangs 1");
  void groups.call("hangs 2");
  expect(await Promise.all(answers)).toEqual(THREADS.map((call) => `${call} shared`));
});

test("calls made after one answer go together, many in two halves, and a single call goes alone", async () => {
  const sent: string[] = [];
  const groups = groupsOf({
    gathers: "answered",
    one: async (call) => {
      sent.push(call);
      return call;
    },
    many: async (group) => {
      sent.push(`${group.length} together`);
      return group;
    },
  });
  const goOn = async (call: string): Promise<void> => {
    expect(await groups.call(call)).toBe(call);
    // Not all of them need the same time until they ask again.
    for (let hops = call.length % 5; hops > 0; hops--) await Promise.resolve();
    expect(await groups.call(call)).toBe(call);
  };
  expect(await groups.call("lonely")).toBe("lonely");
  expect(sent.splice(0)).toEqual(["lonely"]);
  await Promise.all(["a", "to", "all"].map(goOn));
  expect(sent.splice(0)).toEqual(["3 together", "3 together"]);
  await Promise.all(THREADS.map(goOn));
  expect(sent).toEqual(["8 together", "8 together", "8 together", "8 together"]);
});

test("halves that became uneven are made even again", async () => {
  // On a busy machine, waiting calls would be sent because of the time limit.
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const sizes: number[] = [];
  const answers: (() => void)[] = [];
  const groups = groupsOf({
    gathers: "answered",
    many: async (group) => {
      sizes.push(group.length);
      await new Promise<void>((resolve) => answers.push(resolve));
      return group;
    },
  });
  const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const ask = (from: number, to: number): Promise<unknown> =>
    Promise.all(THREADS.slice(from, to).map((call) => groups.call(call)));
  const few = ask(0, 4);
  await tick();
  const many = ask(4, 16);
  await tick();
  expect(sizes).toEqual([4, 8]);
  // The few come back and join the four that had to wait.
  answers.shift()?.();
  await few;
  const again = ask(0, 4);
  await tick();
  expect(sizes).toEqual([4, 8, 8]);
  for (const answer of answers) answer();
  await Promise.all([many, again]);
});

test("where those under way hang, all that wait go together after a while", async () => {
  const sizes: number[] = [];
  const groups = groupsOf({
    gathers: "answered",
    many: async (group) => {
      sizes.push(group.length);
      return group.some((call) => call.startsWith("hangs")) ? new Promise(() => undefined) : group;
    },
  });
  const hanging = Array.from({ length: 40 }, (_, index) => `hangs ${index}`);
  for (const call of hanging) void groups.call(call);
  await new Promise<void>((resolve) => setImmediate(resolve));
  expect(await Promise.all(THREADS.map((call) => groups.call(call)))).toEqual(THREADS);
  expect(sizes).toEqual([20, 20, 16]);
});
