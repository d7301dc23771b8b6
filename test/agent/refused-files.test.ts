import { describe, expect, test } from "vitest";
import type { Model, ModelRequest } from "../../src/models/model.ts";
import { ModelError } from "../../src/models/model-error.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { assistantMessage, type FilePart, type Message, userMessage } from "../../src/state/message.ts";
import { failureOf } from "../failure-of.ts";
import { agentOf, eventsOf, ofType } from "./agent-of.ts";
import { MemoryStore } from "./stored-thread.ts";

const file = (name: string, byte: number, mediaType = "image/png"): FilePart => ({
  type: "file",
  mediaType,
  data: new Uint8Array([byte]),
  filename: name,
});
const filesIn = (messages: readonly Message[]): readonly (string | undefined)[] =>
  messages.flatMap(({ content }) =>
    typeof content === "string" ? [] : content.flatMap((part) => (part.type === "file" ? [part.filename] : [])),
  );

interface PickyModel extends Model {
  readonly requests: ModelRequest[];
}

/** Refuses the whole conversation when it holds a file that it does not take, as providers do. */
function picky(refuses: (name: string) => boolean, status: number | undefined = 400): PickyModel {
  const requests: ModelRequest[] = [];
  return {
    id: "picky",
    requests,
    async *stream(request) {
      requests.push(request);
      const refused = filesIn(request.messages).find((name) => refuses(name ?? ""));
      if (refused !== undefined) {
        throw new ModelError(`cannot read ${refused}`, { retryable: false, ...(status !== undefined && { status }) });
      }
      yield { type: "text-delta", part: 0, text: `sees ${filesIn(request.messages).join(" and ") || "nothing"}` };
      yield { type: "finish", reason: "stop", usage: { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 } };
    },
  };
}

describe("a file that a provider refuses does not brick the thread", () => {
  test("who attaches it is told; a later prompt is answered without it, and the model knows that something was there", async () => {
    const store = new MemoryStore();
    const model = picky((name) => name === "bad.png");
    const open = () => agentOf({ model, checkpointer: store.open() });
    await open().run([file("good.png", 1)], { threadId: "t" });
    const bad = [{ type: "text", text: "and this?" } as const, file("bad.png", 2)];
    const failure = await failureOf(() => open().run(bad, { threadId: "t" }));
    expect(failure).toMatchObject({ code: "MODEL_FAILED", message: "cannot read bad.png" });

    const run = open().run("never mind, go on", { threadId: "t" });
    const warnings = ofType(await eventsOf(run), "warning");
    expect(await run).toMatchObject({ stopReason: "complete", text: "sees good.png" });
    expect(warnings).toMatchObject([{ where: "files", error: { message: "cannot read bad.png" } }]);
    const shown = JSON.stringify(model.requests.at(-1)?.messages);
    expect(shown).toContain("[A file was here (bad.png, image/png). It could not be sent to you.]");
    // The thread itself keeps what was attached.
    expect(filesIn((await store.state()).messages)).toEqual(["good.png", "bad.png"]);

    const before = model.requests.length;
    expect(await open().run("and now?", { threadId: "t" })).toMatchObject({ text: "sees good.png" });
    expect(model.requests.length - before, "the thread remembers what was refused").toBe(1);
  });

  test("files that another model had accepted are left out for one that does not take them", async () => {
    const store = new MemoryStore();
    const said = [
      userMessage([file("a.pdf", 1, "application/pdf"), file("b.png", 2)]),
      assistantMessage("two files"),
      userMessage("thanks"),
      assistantMessage([file("drawn.png", 3)]),
    ];
    await store.open().save(AgentState.create({ messages: said }), "t");
    const result = await agentOf({ model: picky(() => true, undefined), checkpointer: store.open() }).run("and?", {
      threadId: "t",
    });
    expect(result.text).toBe("sees nothing");
    const other = await agentOf({ model: { ...picky(() => false), id: "other" }, checkpointer: store.open() }).run(
      "so?",
      {
        threadId: "t",
      },
    );
    expect(other.text).toBe("sees a.pdf and b.png and drawn.png");
  });

  test("a failure that has nothing to do with the request is not asked about twice", async () => {
    const store = new MemoryStore();
    await store
      .open()
      .save(AgentState.create({ messages: [userMessage([file("a.png", 1)]), assistantMessage("?")] }), "t");
    const model = picky(() => true, 401);
    await failureOf(() => agentOf({ model, checkpointer: store.open() }).run("go", { threadId: "t" }));
    expect(model.requests).toHaveLength(1);
  });

  test("where leaving files out does not help either, the first failure is the one that is told", async () => {
    const store = new MemoryStore();
    const seen = [userMessage([file("a.png", 1)]), assistantMessage("?")];
    await store.open().save(AgentState.create({ messages: seen }), "t");
    const requests: ModelRequest[] = [];
    const model: Model = {
      id: "broken",
      // biome-ignore lint/correctness/useYield: it fails before it says anything
      async *stream(request) {
        requests.push(request);
        throw new ModelError(`failure ${requests.length}`, { retryable: false, status: 400 });
      },
    };
    const failure = await failureOf(() => agentOf({ model, checkpointer: store.open() }).run("go", { threadId: "t" }));
    expect({ message: failure.message, asked: requests.length }).toEqual({ message: "failure 1", asked: 2 });
    expect((await store.state()).providerState).toEqual({});
  });
});
