import { createCipheriv, createDecipheriv, createPublicKey, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { KmsCryptoClient } from "oci-keymanagement";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Keyring } from "../../src/sealing/keys/keyring.ts";
import { ociVaultKeys } from "../../src/sealing/keys/oci-vault.ts";
import { faultInSignature, keyIdOf, newUser } from "../oci-stand-in/signature.ts";
import { sampleKeyring } from "../sealing/sample-keyring.ts";

/**
 * A stand-in for the crypto endpoint of OCI Vault: it takes nothing that is not
 * signed, nothing that the service's API does not name, and opens nothing with
 * other associated data than it was closed with.
 */
const user = newUser();
const keys = new Map(["one", "two"].map((name) => [`ocid1.key.oc1..${name}`, randomBytes(32)]));
const deleted = new Set<string>();
const asked: string[] = [];
let isDown = false;

async function answerTo(request: IncomingMessage, body: Buffer): Promise<{ status: number; answer: object }> {
  const refuse = (status: number, code: string, message: string) => ({ status, answer: { code, message } });
  if (isDown) return refuse(503, "ServiceUnavailable", "try later");
  const publicKey = createPublicKey(user.publicKey);
  const fault = faultInSignature(request, body, { publicKey, keyId: keyIdOf(user) });
  if (fault !== undefined) return refuse(401, "NotAuthenticated", fault);
  const given = JSON.parse(body.toString("utf8")) as Record<string, unknown>;
  const operation = /^\/20180608\/(encrypt|decrypt)$/.exec(request.url ?? "")?.[1];
  const content = operation === "encrypt" ? "plaintext" : "ciphertext";
  const names = ["keyId", content, "associatedData"];
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (operation === undefined || request.method !== "POST" || unknown !== undefined) {
    return refuse(400, "InvalidParameter", `not taken: ${unknown ?? request.url}`);
  }
  const { keyId, associatedData } = given as { keyId: string; associatedData: Record<string, string> };
  const key = keys.get(keyId);
  if (key === undefined || deleted.has(keyId)) return refuse(404, "NotAuthorizedOrNotFound", `no key ${keyId}`);
  asked.push(operation);
  const data = Buffer.from(String(given[content]), "base64");
  if (data.byteLength === 0 || data.byteLength > 4096) return refuse(400, "InvalidParameter", "too long");
  const aad = Buffer.from(JSON.stringify(associatedData));
  if (operation === "encrypt") {
    const iv = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", key, iv).setAAD(aad);
    const sealed = Buffer.concat([cipher.update(data), cipher.final()]);
    return {
      status: 200,
      answer: { ciphertext: Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString("base64"), keyId },
    };
  }
  try {
    const decipher = createDecipheriv("aes-256-gcm", key, data.subarray(0, 12)).setAAD(aad);
    decipher.setAuthTag(data.subarray(12, 28));
    const plain = Buffer.concat([decipher.update(data.subarray(28)), decipher.final()]);
    return { status: 200, answer: { plaintext: plain.toString("base64"), plaintextChecksum: "0", keyId } };
  } catch {
    return refuse(400, "InvalidParameter", "the ciphertext does not decrypt");
  }
}

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { status, answer } = await answerTo(request, Buffer.concat(chunks));
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
});
let client: KmsCryptoClient;
beforeAll(async () => {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const authenticationDetailsProvider = {
    getKeyId: async () => keyIdOf(user),
    getPrivateKey: () => user.privateKey,
    getPassphrase: () => null,
  };
  const retryConfiguration = { terminationStrategy: { shouldTerminate: () => true } };
  client = new KmsCryptoClient({ authenticationDetailsProvider }, { retryConfiguration } as never);
  client.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  client.close();
  server.close();
});

test("a keyring whose outermost key lies in OCI Vault: asked once to open, never for a key of its own, and rotated", async () => {
  const [one, two] = [...keys.keys()] as [string, string];
  const { keyring, options } = await sampleKeyring({ provider: ociVaultKeys({ client, keyId: one }) });
  const made = await keyring.personKeys("", ["ada", "bob"]);
  asked.length = 0;
  const reopened = await Keyring.open(options);
  expect(await reopened.personKeys("", ["ada", "bob"])).toEqual(made);
  expect(asked).toEqual(["decrypt"]);
  const next = await Keyring.open({ ...options, provider: ociVaultKeys({ client, keyId: two }) });
  expect((await next.rotate({ graceMs: 0 })).outerKeys).toEqual([two]);
  deleted.add(one);
  const rotated = await Keyring.open({ ...options, provider: ociVaultKeys({ client, keyId: two }) });
  expect(await rotated.personKeys("", ["ada", "bob"])).toEqual(made);
  deleted.clear();
});

test("a key that was deleted in the vault is PERMISSION_DENIED, an outage UNAVAILABLE, another keyring's key refused", async () => {
  const [one] = [...keys.keys()] as [string];
  const { options } = await sampleKeyring({ provider: ociVaultKeys({ client, keyId: one }) });
  deleted.add(one);
  await expect(Keyring.open(options)).rejects.toMatchObject({
    code: "PERMISSION_DENIED",
    message: expect.stringContaining(one),
  });
  deleted.clear();
  isDown = true;
  await expect(Keyring.open(options)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  isDown = false;
  const provider = ociVaultKeys({ client, keyId: one });
  const wrapped = await provider.wrap(randomBytes(32), Buffer.from("one place"));
  await expect(provider.unwrap(wrapped, Buffer.from("another place"))).rejects.toMatchObject({
    code: "PERMISSION_DENIED",
  });
  expect(() => ociVaultKeys({ client: {} as never, keyId: one })).toThrow(/KmsCryptoClient/);
});
