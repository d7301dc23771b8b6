import { createHash, createVerify, generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectAnswer } from "../../src/models/collect-answer.ts";
import { modelFromString } from "../../src/providers/strings.ts";
import { userMessage } from "../../src/state/message.ts";
import { failureOf } from "../failure-of.ts";
import { type FakeDialect, type FakeProvider, type RecordedRequest, startFakeProvider } from "./fake-provider.ts";

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const PEM = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
const LOCKED_PEM = privateKey.export({
  type: "pkcs8",
  format: "pem",
  cipher: "aes-256-cbc",
  passphrase: "open sesame",
}) as string;
const request = { messages: [userMessage("Grüße \u{1f511}")], tools: [] };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "holdfast-oci-"));
  await writeFile(join(folder, "key.pem"), PEM);
  await writeFile(join(folder, "locked.pem"), LOCKED_PEM);
  await writeFile(join(folder, "token"), "session-token\n");
  await writeFile(join(folder, "junk.pem"), "-----BEGIN PRIVATE KEY-----\nsecretjunk\n-----END PRIVATE KEY-----\n");
  const lines = [
    "# written by hand",
    "[DEFAULT]",
    "user=ocid1.user.oc1..u",
    "fingerprint = aa:bb",
    "tenancy=ocid1.tenancy.oc1..t",
    "region=us-chicago-1",
    `key_file=${join(folder, "key.pem")}`,
    "",
    "[LOCKED]",
    `key_file=${join(folder, "locked.pem")}`,
    "pass_phrase=open sesame",
    "[SESSION]",
    `security_token_file=${join(folder, "token")}`,
    "[WRONGPHRASE]",
    `key_file=${join(folder, "locked.pem")}`,
    "pass_phrase=guessed",
    "[JUNK]",
    `key_file=${join(folder, "junk.pem")}`,
    "[NOKEY]",
    "key_file=",
  ];
  await writeFile(join(folder, "config"), lines.join("\n"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Answers only what is signed for the public key, as OCI does. */
class OciDialect implements FakeDialect {
  refuse({ headers }: RecordedRequest) {
    const { authorization = "" } = headers;
    return authorization.startsWith("Signature ") || authorization === "Bearer genai-key"
      ? undefined
      : { status: 401, message: "NotAuthenticated" };
  }
  events() {
    const chunk = (delta: object, finish_reason: string | null) => ({
      id: "1",
      object: "chat.completion.chunk",
      created: 1,
      model: "m",
      choices: [{ index: 0, delta, finish_reason }],
    });
    return [chunk({ content: "Hello." }, null), chunk({}, "stop"), { done: true }];
  }
  errorEvent(message: string) {
    return { error: { message } };
  }
  errorBody({ message }: { message: string }) {
    return { error: { message } };
  }
}

const startOci = (): Promise<FakeProvider> => startFakeProvider(new OciDialect(), [{ blocks: [] }]);
const environmentOf = (profile: string) => ({ OCI_CONFIG_FILE: join(folder, "config"), OCI_CLI_PROFILE: profile });

/** The key id, if the signature covers what it must cover and fits the public key. */
function verifiedKeyId({ headers, path, text }: RecordedRequest): string {
  const fields: Record<string, string> = Object.fromEntries(
    [...headers.authorization!.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]),
  );
  expect(fields).toMatchObject({ version: "1", algorithm: "rsa-sha256" });
  const names = fields["headers"]!.split(" ");
  expect(names).toEqual(["x-date", "(request-target)", "host", "content-length", "content-type", "x-content-sha256"]);
  const signed = names
    .map((name) => `${name}: ${name === "(request-target)" ? `post ${path}` : headers[name]}`)
    .join("\n");
  expect(
    createVerify("RSA-SHA256").update(signed).verify(publicKey, fields["signature"]!, "base64"),
    "the signature fits",
  ).toBe(true);
  expect(headers["x-content-sha256"]).toBe(createHash("sha256").update(text).digest("base64"));
  expect(Math.abs(Date.parse(headers["x-date"] as string) - Date.now())).toBeLessThan(60_000);
  return fields["keyId"]!;
}

test.each([
  ["DEFAULT", "ocid1.tenancy.oc1..t/ocid1.user.oc1..u/aa:bb"],
  ["LOCKED", "ocid1.tenancy.oc1..t/ocid1.user.oc1..u/aa:bb"],
  ["SESSION", "ST$session-token"],
])("a request is signed with the profile %s, so that the public key verifies it", async (profile, keyId) => {
  await using fake = await startOci();
  const model = await modelFromString("oci:openai.gpt-5.5", { baseUrl: fake.url, environment: environmentOf(profile) });
  expect((await collectAnswer(model.stream(request))).content).toBe("Hello.");
  const [sent] = fake.requests;
  expect(verifiedKeyId(sent!)).toBe(keyId);
  expect(sent!.body).toMatchObject({ model: "openai.gpt-5.5", stream: true });
  expect(sent!.headers).toMatchObject({
    "opc-compartment-id": "ocid1.tenancy.oc1..t",
    compartmentid: "ocid1.tenancy.oc1..t",
  });
});

test("an API key of the service is used instead of a signature", async () => {
  await using fake = await startOci();
  const environment = {
    OCI_GENAI_API_KEY: "genai-key",
    OCI_COMPARTMENT_ID: "ocid1.compartment.oc1..c",
    OCI_CONFIG_FILE: join(folder, "none"),
  };
  const model = await modelFromString("oci:xai.grok-4", { baseUrl: fake.url, environment });
  expect((await collectAnswer(model.stream(request))).content).toBe("Hello.");
  expect(fake.requests[0]!.headers).toMatchObject({
    authorization: "Bearer genai-key",
    "opc-compartment-id": "ocid1.compartment.oc1..c",
  });
});

test("the region decides the endpoint: the environment's, else the profile's", async () => {
  const urls: string[] = [];
  const fetch = async (url: unknown) => {
    urls.push(String(url));
    return new Response("{}", { status: 404 });
  };
  for (const extra of [{}, { OCI_REGION: "eu-frankfurt-1" }]) {
    const model = await modelFromString("oci:m", {
      fetch,
      environment: { ...environmentOf("DEFAULT"), ...extra },
      retry: false,
    });
    await failureOf(() => collectAnswer(model.stream(request)));
  }
  expect(urls).toEqual([
    "https://inference.generativeai.us-chicago-1.oci.oraclecloud.com/openai/v1/chat/completions",
    "https://inference.generativeai.eu-frankfurt-1.oci.oraclecloud.com/openai/v1/chat/completions",
  ]);
});

test("what is missing is named, and no key is in the error", async () => {
  const failing = async (environment: Record<string, string>) => {
    const failure = await failureOf(async () => {
      const model = await modelFromString("oci:m", { baseUrl: "http://127.0.0.1:9/v1", environment, retry: false });
      await collectAnswer(model.stream(request));
    });
    const told = `${failure.message} ${failure.stack} ${String((failure.cause as Error | undefined)?.stack)}`;
    for (const secret of ["secretjunk", "guessed", "PRIVATE KEY", PEM.slice(40, 80)])
      expect(told).not.toContain(secret);
    return failure.message;
  };
  expect(await failing({ OCI_CONFIG_FILE: join(folder, "none") })).toContain(
    "cannot be read (ENOENT); create it with `oci setup config`, or set OCI_GENAI_API_KEY",
  );
  expect(await failing(environmentOf("NOSUCH"))).toContain('has no profile "NOSUCH"');
  expect(await failing(environmentOf("NOKEY"))).toContain('profile "NOKEY" in');
  expect(await failing(environmentOf("JUNK"))).toContain("junk.pem is not a private key in PEM form");
  expect(await failing(environmentOf("WRONGPHRASE"))).toContain("or pass_phrase in the config file does not open it");
});

test("a region that would lead elsewhere is refused", async () => {
  const environment = { ...environmentOf("DEFAULT"), OCI_REGION: "evil.example/#" };
  expect(await failureOf(() => modelFromString("oci:m", { environment }))).toMatchObject({
    code: "INVALID_ARGUMENT",
    message: 'oci: "evil.example/#" is not a region; one looks like us-chicago-1',
  });
  const none = { OCI_GENAI_API_KEY: "genai-key", OCI_CONFIG_FILE: join(folder, "none") };
  expect((await failureOf(() => modelFromString("oci:m", { environment: none }))).message).toContain(
    "oci: no region; set OCI_REGION",
  );
});
