import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectAnswer } from "../../src/models/collect-answer.ts";
import { type ModelStringOptions, modelFromString } from "../../src/providers/strings.ts";
import { userMessage } from "../../src/state/message.ts";
import { failureOf } from "../failure-of.ts";
import { noticedByClients } from "../network/noticed-by-clients.ts";

const KEY = "zebra-key-0123456789";
const PROMPT = "the quokka's account number";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-redirects-"));
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  await writeFile(join(folder, "key.pem"), privateKey.export({ type: "pkcs8", format: "pem" }));
  const profile = ["user=u", "fingerprint=f", "tenancy=t", "region=r", `key_file=${join(folder, "key.pem")}`];
  await writeFile(join(folder, "config"), ["[DEFAULT]", ...profile].join("\n"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Listening extends AsyncDisposable {
  readonly url: string;
}

async function listening(answer: RequestListener): Promise<Listening> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      await noticedByClients();
    },
  };
}

/** Each provider with every way it authenticates itself by. */
const PROVIDERS: Readonly<Record<string, readonly [name: string, options: () => ModelStringOptions]>> = {
  "openai, by key": ["openai:gpt-5", () => ({ apiKey: KEY })],
  "anthropic, by x-api-key": ["anthropic:claude-sonnet-4-5", () => ({ apiKey: KEY })],
  "google, by x-goog-api-key": ["google:gemini-2.5-pro", () => ({ apiKey: KEY })],
  "ollama, by key": ["ollama:qwen3:8b", () => ({ apiKey: KEY })],
  "oci, by key": ["oci:openai.gpt-5.5", () => ({ apiKey: KEY, environment: { OCI_COMPARTMENT_ID: KEY } })],
  "oci, by signature": [
    "oci:openai.gpt-5.5",
    () => ({ environment: { OCI_CLI_CONFIG_FILE: join(folder, "config"), OCI_COMPARTMENT_ID: KEY } }),
  ],
};

const STATUSES = [301, 302, 303, 307, 308];

test.each(Object.entries(PROVIDERS))(
  "%s: a redirect to another origin is not followed, and the error says where it led",
  async (_, [name, options]) => {
    const stolen: string[] = [];
    await using elsewhere = await listening(async (request, response) => {
      const body: Buffer[] = [];
      for await (const chunk of request) body.push(chunk as Buffer);
      stolen.push(`${request.url} ${JSON.stringify(request.rawHeaders)} ${Buffer.concat(body)}`);
      response.end();
    });
    for (const status of STATUSES) {
      let asked = 0;
      await using provider = await listening((request, response) => {
        asked++;
        request.resume();
        response.writeHead(status, { location: `${elsewhere.url}/v1?token=${KEY}` }).end();
      });
      const model = await modelFromString(name, { ...options(), baseUrl: `${provider.url}/v1` });
      const request = { messages: [userMessage(PROMPT)], tools: [] };
      const failure = await failureOf(() => collectAnswer(model.stream(request)));
      expect(failure).toMatchObject({ code: "MODEL_FAILED", retryable: false });
      expect(failure.message).toContain(`a redirect (HTTP ${status}) to ${elsewhere.url}/v1. It was not followed`);
      expect(failure.message).toContain("set it as baseUrl");
      expect(failure.message).not.toContain(KEY);
      expect(asked).toBe(1);
    }
    expect(stolen).toEqual([]);
  },
);

test("a fetch that the user passed is asked not to follow redirects either", async () => {
  const modes: (string | undefined)[] = [];
  const fetch: typeof globalThis.fetch = async (_, init) => {
    modes.push(init?.redirect);
    return Response.redirect("https://elsewhere.example/v1", 307);
  };
  const model = await modelFromString("anthropic:claude-sonnet-4-5", { apiKey: KEY, fetch });
  const failure = await failureOf(() => collectAnswer(model.stream({ messages: [userMessage(PROMPT)], tools: [] })));
  expect(failure.message).toContain("https://elsewhere.example/v1");
  expect(modes).toEqual(["manual"]);
});
