import { expect, test } from "vitest";
import { collectAnswer } from "../../src/models/collect-answer.ts";
import { PROVIDERS } from "../../src/providers/registry.ts";
import { modelFromString } from "../../src/providers/strings.ts";
import { failureOf } from "../failure-of.ts";
import { ANTHROPIC_KEY, startFakeAnthropic } from "./fake-anthropic.ts";
import { OPENAI_KEY, startFakeOpenAI } from "./fake-openai.ts";
import { greeting, hello, saidBy } from "./said-by.ts";

test("openai: speaks through @ai-sdk/openai, and keeps threads independent of what OpenAI stores", async () => {
  await using fake = await startFakeOpenAI([hello]);
  const environment = { OPENAI_API_KEY: OPENAI_KEY };
  expect(await saidBy("openai:gpt-5", { baseUrl: fake.url, environment, headers: { "x-team": "ops" } })).toBe("Hello.");
  const [sent] = fake.requests;
  expect(sent!.path).toBe("/v1/responses");
  expect(sent!.headers["x-team"]).toBe("ops");
  expect(sent!.body).toMatchObject({ model: "gpt-5", store: false, include: ["reasoning.encrypted_content"] });
});

test("anthropic: speaks through @ai-sdk/anthropic", async () => {
  await using fake = await startFakeAnthropic([hello]);
  const environment = { ANTHROPIC_API_KEY: ANTHROPIC_KEY };
  expect(await saidBy("anthropic:claude-sonnet-4-5", { baseUrl: fake.url, environment })).toBe("Hello.");
});

test("google: speaks through @ai-sdk/google", async () => {
  const urls: string[] = [];
  const chunk = { candidates: [{ content: { role: "model", parts: [{ text: "Hello." }] }, finishReason: "STOP" }] };
  const fetch = async (url: unknown) => {
    urls.push(String(url));
    return new Response(`data: ${JSON.stringify(chunk)}\n\n`, { headers: { "content-type": "text/event-stream" } });
  };
  expect(await saidBy("google:gemini-2.5-pro", { fetch, environment: { GEMINI_API_KEY: "k" } })).toBe("Hello.");
  expect(urls[0]).toContain("/models/gemini-2.5-pro:streamGenerateContent");
});

test("ollama: speaks through @ai-sdk/openai-compatible to the local server, with colons in the model's name", async () => {
  await using fake = await startFakeOpenAI([hello, hello]);
  const { host } = new URL(fake.url);
  const headers = { authorization: `Bearer ${OPENAI_KEY}` };
  for (const OLLAMA_HOST of [host, `http://${host}/`]) {
    expect(await saidBy("ollama:qwen3:8b", { environment: { OLLAMA_HOST }, headers })).toBe("Hello.");
  }
  expect(fake.requests).toMatchObject(Array(2).fill({ path: "/v1/chat/completions", body: { model: "qwen3:8b" } }));
});

test("ollama: without a setting it is the usual port of this machine", async () => {
  const urls: string[] = [];
  const fetch = async (url: unknown) => {
    urls.push(String(url));
    return new Response("{}", { status: 404 });
  };
  const model = await modelFromString("ollama:qwen3", { fetch, environment: {}, retry: false });
  await failureOf(() => collectAnswer(model.stream(greeting)));
  expect(urls).toEqual(["http://127.0.0.1:11434/v1/chat/completions"]);
});

test.each(["gpt-5", "", ":", "openai:", "openai: ", "nosuch:model", "__proto__:x", "constructor:x", "OPENAI:gpt-5"])(
  "%j is refused with the strings that work",
  async (name) => {
    const failure = await failureOf(() => modelFromString(name));
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
    for (const { example } of Object.values(PROVIDERS)) expect(failure.message).toContain(example);
  },
);

test.each(Object.entries(PROVIDERS))(
  "%s: a missing package is named with the line that installs it",
  async (_, provider) => {
    const importPackage = async (name: string) => {
      throw Object.assign(new Error(`Cannot find package '${name}'`), { code: "ERR_MODULE_NOT_FOUND" });
    };
    const failure = await failureOf(() => modelFromString(provider.example, { importPackage }));
    const [[name, range]] = Object.entries(provider.peers) as [[string, string]];
    expect(failure).toMatchObject({ code: "MISSING_DEPENDENCY" });
    expect(failure.message).toContain(`npm install "${name}@${range}"`);
  },
);

test.each([
  ["openai:gpt-5", "openai: no API key; set OPENAI_API_KEY"],
  ["anthropic:claude", "anthropic: no API key; set ANTHROPIC_API_KEY"],
  ["google:gemini", "google: no API key; set GOOGLE_GENERATIVE_AI_API_KEY or GEMINI_API_KEY"],
])("%s without a key says which variable to set", async (name, message) => {
  expect(await failureOf(() => modelFromString(name, { environment: { OPENAI_API_KEY: "" } }))).toMatchObject({
    code: "INVALID_ARGUMENT",
    message,
  });
});

test("a key that is quoted by the provider does not get into the error, whatever it looks like", async () => {
  await using fake = await startFakeOpenAI([]);
  const model = await modelFromString("openai:gpt-5", { baseUrl: fake.url, apiKey: "correct horse battery" });
  const failure = await failureOf(() => collectAnswer(model.stream(greeting)));
  expect(failure.message).toContain("Incorrect API key provided: ***");
  expect(`${failure.stack} ${(failure.cause as Error).stack}`).not.toContain("horse");
});
