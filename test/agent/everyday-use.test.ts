import { describe, expect, test } from "vitest";
import { tool } from "../../src/agent/tool-call/tool.ts";
import { MemoryCheckpointer } from "../../src/backends/memory/index.ts";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, systemMessage, userMessage } from "../../src/state/message.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { Agent } from "../../src/wiring/agent.ts";
import { failureOf } from "../failure-of.ts";
import { smallRecords } from "../small-records-log.ts";
import { eventsOf, ofType } from "./agent-of.ts";

/** As a program in JavaScript calls it. */
const run = (prompt: unknown): unknown => new Agent({ model: scriptedModel(["hi"]) }).run(prompt as string);

describe("a prompt that is no prompt is refused with what to write, and stores nothing", () => {
  const conversation = [systemMessage("Be brief."), userMessage("Hi"), assistantMessage("Yes?"), userMessage("So?")];
  test.each<[what: string, prompt: unknown, says: RegExp]>([
    [
      "a list of messages",
      conversation,
      /part 0 of the prompt is a message\. run\(\) takes what the user says now.*save it first: checkpointer\.save\(/,
    ],
    ["a list with one message", [userMessage("Hi")], /part 0 of the prompt is a message/],
    ["a list of texts", ["Hi", "there"], /part 0 of the prompt is a string\. Write \{ type: "text", text \}/],
    ["an empty list", [], /the prompt says nothing/],
    ["a part of another library's", [{ type: "image", image: "x" }], /of type "image"\. Write .*mediaType/],
    ["a text part without text", [{ type: "text" }], /a text that is undefined/],
    ["a file without a kind", [{ type: "file", data: new Uint8Array(1) }], /mediaType that is undefined/],
    ["a file without data", [{ type: "file", mediaType: "image/png", data: "AAAA" }], /no data that can be read/],
    ["a message without content", { role: "user" }, /content of a user's message .* not undefined/],
    ["a message with a list of texts", userMessage(["Hi"] as never), /part 0 of the prompt is a string/],
  ])("%s", (_, prompt, says) => {
    expect(() => run(prompt)).toThrow(says);
    expect(() => run(prompt)).toThrow(TypeError);
  });
});

test("an unknown option is refused by tool(), save() and load()", async () => {
  const make = (options: object): unknown => tool({ name: "pay", execute: () => "paid", ...options });
  expect(() => make({ requiresConfirmation: true })).toThrow(
    /tool "pay" has no option "requiresConfirmation"; it takes/,
  );
  expect(() => make({ retries: 3 })).toThrow(/has no option "retries"/);
  const checkpointer = new MemoryCheckpointer();
  const state = AgentState.create().withMessage(userMessage("hi"));
  const saved = await failureOf(() => checkpointer.save(state, "t", { checkpointID: "c" } as object));
  expect(saved.message).toMatch(/save\(\) has no option "checkpointID"; did you mean "checkpointId"/);
  const loaded = await failureOf(() => checkpointer.load("t", { version: 3 } as object));
  expect(loaded.message).toMatch(/load\(\) has no option "version"/);
});

test("a threadId without a checkpointer is warned of: to the program once, and in each run", async () => {
  const warned: Error[] = [];
  const listen = (warning: Error): void => void warned.push(warning);
  process.on("warning", listen);
  try {
    const agent = new Agent({ model: scriptedModel(["hi", "hi", "hi"]) });
    for (const options of [{ threadId: "t" }, { threadId: "t" }, {}]) {
      const warnings = ofType(await eventsOf(agent.run("hello", options)), "warning");
      expect(warnings.map(({ where }) => where)).toEqual("threadId" in options ? ["thread"] : []);
    }
    await new Promise(setImmediate);
  } finally {
    process.off("warning", listen);
  }
  const ours = warned.filter((warning) => "code" in warning && warning.code === "HOLDFAST_NOT_SAVED");
  expect(ours.map(({ message }) => message)).toEqual([
    expect.stringMatching(/no checkpointer, so thread "t" is not saved; pass one to new Agent\(\)/),
  ]);
});

describe("a run is used like any promise", () => {
  test("catch and finally are there, and a failure that was caught is not unhandled", async () => {
    const order: string[] = [];
    const failing = new Agent({ model: scriptedModel([new Error("down")]) });
    const caught = failing.run("hello").catch((error: unknown) => (error as Error).message);
    expect(await caught).toContain("down");
    const result = await new Agent({ model: scriptedModel(["hi"]) }).run("hello").finally(() => order.push("end"));
    expect({ text: result.text, order }).toEqual({ text: "hi", order: ["end"] });
  });

  test("a run is a Promise to the types", async () => {
    const promise: Promise<{ readonly text: string }> = new Agent({ model: scriptedModel(["hi"]) }).run("hello");
    expect((await Promise.all([promise]))[0]?.text).toBe("hi");
  });

  test("the answer is there as message as well as text", async () => {
    const result = await new Agent({ model: scriptedModel(["hi there"]) }).run("hello");
    expect({ message: result.message.trim(), text: result.text }).toEqual({ message: "hi there", text: "hi there" });
  });
});

describe("an error of a run advises what its caller can do", () => {
  /** What only the holder of a state or a checkpointer could do. */
  const FOR_OTHERS = /load it again|redo the change|saving the same state|save it in several steps|checkpointer again/i;

  test("a thread that another process wrote to", async () => {
    const checkpointer = new MemoryCheckpointer();
    const agent = new Agent({
      checkpointer,
      lease: false,
      model: scriptedModel([
        async () => {
          let state = await checkpointer.load("t");
          for (; state === undefined; state = await checkpointer.load("t")) await new Promise(setImmediate);
          await checkpointer.save(state.withMessage(userMessage("me too")), "t");
          return "hi";
        },
      ]),
    });
    const failure = await failureOf(() => agent.run("hello", { threadId: "t" }));
    expect(failure.code).toBe("CONFLICT");
    expect(failure.message).not.toMatch(FOR_OTHERS);
    expect(failure.message).toMatch(/Run it again; what was saved is kept/);
  });

  test("more than the storage takes", async () => {
    const checkpointer = new Checkpointer(smallRecords(new MemoryLog(), 2_000).log);
    const agent = new Agent({ checkpointer, model: scriptedModel(["hi"]) });
    const failure = await failureOf(() => agent.run("long ".repeat(1_000), { threadId: "t" }));
    expect(failure.code).toBe("TOO_LARGE");
    expect(failure.message).not.toMatch(FOR_OTHERS);
    expect(failure.message).toMatch(/Shorten the prompt/);
  });

  test("a save of unknown outcome", async () => {
    class Lost extends MemoryLog {
      override async append(): Promise<never> {
        throw new Error("the connection broke");
      }
    }
    const checkpointer = new Checkpointer(new Lost(), { retry: { attempts: 1 } });
    const agent = new Agent({ checkpointer, model: scriptedModel(["hi"]) });
    const failure = await failureOf(() => agent.run("hello", { threadId: "t" }));
    expect(failure.message).toMatch(/It may have been written; run the thread again/);
    expect(failure.message).not.toMatch(FOR_OTHERS);
  });

  test("a checkpointer that was closed before the run", async () => {
    const checkpointer = new MemoryCheckpointer();
    await checkpointer.close();
    const agent = new Agent({ checkpointer, model: scriptedModel([]) });
    const failure = await failureOf(() => agent.run("hello", { threadId: "t" }));
    expect(failure).toMatchObject({ code: "CLOSED", message: expect.stringContaining("make a new agent") });
  });

  test("a checkpointer that was closed during the run", async () => {
    const checkpointer = new MemoryCheckpointer();
    const closes = async (): Promise<string> => {
      await checkpointer.close();
      return "hi";
    };
    const agent = new Agent({ checkpointer, model: scriptedModel([closes]) });
    const failure = await failureOf(() => agent.run("hello", { threadId: "t" }));
    expect(failure).toMatchObject({ code: "CLOSED", message: expect.stringContaining("make a new agent") });
    expect(failure.message).not.toMatch(FOR_OTHERS);
  });
});
