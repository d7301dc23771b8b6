import { expect, test } from "vitest";
import { collectAnswer } from "./collect-answer.ts";
import { type Model, type ModelPart, type ModelRequest, NO_USAGE } from "./model.ts";
import { ModelError } from "./model-error.ts";
import { type ModelRetryOptions, retryingModel } from "./retrying-model.ts";

const request: ModelRequest = { messages: [], tools: [] };
const word: ModelPart = { type: "text-delta", part: 0, text: "Hello" };
const end: ModelPart = { type: "finish", reason: "stop", usage: NO_USAGE };
const passing = new ModelError("overloaded", { retryable: true });

/** Plays one list for each request: parts are yielded, errors thrown. */
function played(...attempts: readonly (readonly (ModelPart | Error)[])[]): Model & { readonly count: number } {
  let count = 0;
  return {
    id: "played",
    get count() {
      return count;
    },
    async *stream() {
      for (const step of attempts[count++] ?? []) {
        if (step instanceof Error) throw step;
        yield step;
      }
    },
  };
}

function recorded(options: ModelRetryOptions = {}): ModelRetryOptions & { readonly waits: number[] } {
  const waits: number[] = [];
  return { random: () => 0.5, sleep: async (ms) => void waits.push(ms), ...options, waits };
}

test("what may pass is tried again, with pauses that double and are drawn at random", async () => {
  const model = played([passing], [passing], [passing], [word, end]);
  const options = recorded({ baseDelayMs: 100 });
  const answer = await collectAnswer(retryingModel(model, options).stream(request));
  expect(answer.content).toBe("Hello");
  expect(options.waits).toEqual([50, 100, 200]);
});

test("no pause is longer than the longest allowed", async () => {
  const options = recorded({ attempts: 9, baseDelayMs: 1000, maxDelayMs: 3000, random: () => 1 });
  const model = played(...Array(8).fill([passing]), [end]);
  await collectAnswer(retryingModel(model, options).stream(request));
  expect(options.waits).toEqual([1000, 2000, 3000, 3000, 3000, 3000, 3000, 3000]);
});

test("the attempts are counted, and the last error is the one that is thrown", async () => {
  const last = new ModelError("still overloaded", { retryable: true });
  const model = played([passing], [last], [end]);
  await expect(collectAnswer(retryingModel(model, recorded({ attempts: 2 })).stream(request))).rejects.toBe(last);
  expect(model.count).toBe(2);
});

test("a provider that names a time is waited for, a little longer each", async () => {
  const options = recorded({ baseDelayMs: 100 });
  const limited = new ModelError("slow down", { retryable: true, retryAfterMs: 7000 });
  await collectAnswer(retryingModel(played([limited], [end]), options).stream(request));
  expect(options.waits).toEqual([7050]);
});

test("a provider that asks for too long a wait is not waited for", async () => {
  const tomorrow = new ModelError("come back tomorrow", { retryable: true, retryAfterMs: 86_400_000 });
  const model = played([tomorrow], [end]);
  await expect(collectAnswer(retryingModel(model, recorded()).stream(request))).rejects.toBe(tomorrow);
  expect(model.count).toBe(1);
});

test("once a word was yielded nothing is tried again", async () => {
  const model = played([word, passing], [word, end]);
  await expect(collectAnswer(retryingModel(model, recorded()).stream(request))).rejects.toBe(passing);
  expect(model.count).toBe(1);
});

test.each([
  ["a failure that stays", new ModelError("no such model", { retryable: false })],
  ["an error of no known kind", new Error("a bug")],
])("%s is not tried again", async (_, error) => {
  const model = played([error], [end]);
  await expect(collectAnswer(retryingModel(model, recorded()).stream(request))).rejects.toBe(error);
  expect(model.count).toBe(1);
});

test("an abort during a pause ends it with the signal's reason", async () => {
  const controller = new AbortController();
  const model = played([passing], [end]);
  const run = collectAnswer(
    retryingModel(model, { baseDelayMs: 60_000, random: () => 1 }).stream({ ...request, signal: controller.signal }),
  );
  setImmediate(() => controller.abort(new Error("enough")));
  await expect(run).rejects.toThrow("enough");
  expect(model.count).toBe(1);
});

test("a model that retries is not wrapped again: attempts do not multiply", () => {
  const once = retryingModel(played());
  expect(retryingModel(once)).toBe(once);
  expect(once.id).toBe("played");
});
