import { afterAll, expect, test } from "vitest";
import { MemoryLog } from "../../src/backends/memory/log.ts";
import { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { createToken } from "../../src/entry/server.ts";
import { createApp } from "../../src/server/app.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { encodeSegment } from "../../src/wire/names.ts";

const checkpointer = new Checkpointer(new MemoryLog());
const { token, sha256 } = createToken();
const app = await createApp({ checkpointer, auth: { tokens: [{ sha256, scopes: ["threads:write"] }] } });
afterAll(() => app.close());

async function post(thread: string, body: unknown): Promise<{ readonly status: number; readonly answer: unknown }> {
  const response = await app.fetch(
    new Request(`http://localhost/v1/threads/${encodeSegment(thread)}/signals`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    }),
  );
  return { status: response.status, answer: await response.json() };
}

test("a webhook with nothing but a token delivers an outcome, once however often it is sent", async () => {
  await checkpointer.save(AgentState.create().withMessage(userMessage("hello")), "t");
  const signal = { result: { toolCallId: "c1", result: { shipped: true } } };
  expect(await post("t", { signal, id: "hook-1" })).toEqual({
    status: 201,
    answer: { id: "hook-1", isRepeated: false },
  });
  expect(await post("t", { signal, id: "hook-1" })).toEqual({
    status: 200,
    answer: { id: "hook-1", isRepeated: true },
  });
  expect(await checkpointer.signals("t")).toMatchObject([
    { id: "hook-1", kind: "answers", answers: [{ toolCallId: "c1", value: { shipped: true } }] },
  ]);
});

test("a thread that is not there is refused, unless it is to be made", async () => {
  const signal = { message: "pack it" };
  expect(await post("new", { signal })).toMatchObject({ answer: { code: "NOT_FOUND" } });
  expect(await post("new", { signal, create: true })).toMatchObject({ status: 201 });
  expect(await checkpointer.signals("new")).toMatchObject([{ message: { content: "pack it" } }]);
});

test("what is no signal is refused, and nothing is sent", async () => {
  const wrong = [
    {},
    { signal: "hello" },
    { signal: {} },
    { signal: { message: 5 } },
    { signal: { cancel: true }, id: "" },
    { signal: { cancel: true }, id: 5 },
    { signal: { cancel: true }, create: "yes" },
    { signal: { cancel: true }, by: "ann" },
  ];
  for (const body of wrong) {
    expect([body, await post("new", body)]).toMatchObject([
      body,
      { status: 400, answer: { code: "INVALID_ARGUMENT" } },
    ]);
  }
  expect(await checkpointer.signals("new")).toHaveLength(1);
});
