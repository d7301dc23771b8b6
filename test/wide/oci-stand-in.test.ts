import { MaxAttemptsTerminationStrategy, SimpleAuthenticationDetailsProvider } from "oci-common";
import { ObjectStorageClient } from "oci-objectstorage";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { OciStandIn } from "../oci-stand-in/stand-in.ts";

/** The stand-in is only worth something as far as it refuses what the service refuses. */

let standIn: OciStandIn;
let client: ObjectStorageClient;
const bucket = { namespaceName: "standin", bucketName: "threads" };

beforeAll(async () => {
  // The SDK says every refusal on the console, too.
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
  standIn = await OciStandIn.start({ mostListed: 3 });
  const { tenancy, user, fingerprint, privateKey } = standIn.user;
  const provider = new SimpleAuthenticationDetailsProvider(tenancy, user, fingerprint, privateKey, null);
  const retryConfiguration = { terminationStrategy: new MaxAttemptsTerminationStrategy(1) };
  client = new ObjectStorageClient({ authenticationDetailsProvider: provider }, { retryConfiguration });
  client.endpoint = standIn.endpoint;
});
afterAll(async () => {
  client.close();
  await standIn.close();
  vi.restoreAllMocks();
});

const put = (objectName: string, conditions: object = {}) =>
  client.putObject({ ...bucket, objectName, putObjectBody: "hello", contentLength: 5, ...conditions });
const refusal = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => "no refusal",
    ({ statusCode, serviceCode }: { statusCode: number; serviceCode: string }) => `${statusCode} ${serviceCode}`,
  );

test("a request without a signature, or with that of another request, is refused", async () => {
  const url = `${standIn.endpoint}/n/standin/b/threads/o/a`;
  expect((await fetch(url)).status).toBe(401);
  let headers = new Headers();
  const spy = vi.spyOn(globalThis, "fetch").mockImplementationOnce(async (_, init) => {
    headers = new Headers(init?.headers);
    return new Response("{}", { status: 200 });
  });
  await client.getObject({ ...bucket, objectName: "a" });
  spy.mockRestore();
  expect((await fetch(url, { headers })).status, "as it was signed").toBe(404);
  expect((await fetch(`${url}b`, { headers })).status, "another path").toBe(401);
  expect((await fetch(url, { headers, method: "DELETE" })).status, "another method").toBe(401);
});

test("a bucket is made once, from a body whose hash is signed", async () => {
  const createBucketDetails = { name: "new", compartmentId: standIn.compartmentId };
  await client.createBucket({ namespaceName: "standin", createBucketDetails });
  expect(standIn.hasBucket("new")).toBe(true);
  const again = client.createBucket({ namespaceName: "standin", createBucketDetails });
  expect(await refusal(again)).toBe("409 BucketAlreadyExists");
});

test("conditions are kept", async () => {
  const { eTag } = await put("c", { ifNoneMatch: "*" });
  expect(await refusal(put("c", { ifNoneMatch: "*" }))).toBe("412 IfNoneMatchFailed");
  expect(await refusal(put("c", { ifMatch: "another" }))).toBe("412 IfMatchFailed");
  expect(await refusal(put("absent", { ifMatch: eTag }))).toBe("412 IfMatchFailed");
  const { eTag: next } = await put("c", { ifMatch: eTag });
  expect(next).not.toBe(eTag);
  expect(await refusal(client.deleteObject({ ...bucket, objectName: "c", ifMatch: eTag }))).toBe("412 IfMatchFailed");
  await client.deleteObject({ ...bucket, objectName: "c", ifMatch: next });
  expect(await refusal(client.getObject({ ...bucket, objectName: "c" }))).toBe("404 ObjectNotFound");
});

test("a body with another hash, a bucket and a namespace that are not there are refused by their names", async () => {
  expect(await refusal(put("d", { contentMD5: "AAAAAAAAAAAAAAAAAAAAAA==" }))).toBe("400 UnmatchedContentMD5");
  expect(await refusal(put("d", { bucketName: "none" }))).toBe("404 BucketNotFound");
  expect(await refusal(put("d", { namespaceName: "none" }))).toBe("404 NamespaceNotFound");
});

test("a listing comes in pages, from and up to a name, and by folders", async () => {
  for (const name of ["l/1", "l/2", "l/3/a", "l/3/b", "l/4"]) await put(name);
  const list = async (request: object) =>
    (await client.listObjects({ ...bucket, prefix: "l/", ...request })).listObjects;
  const first = await list({});
  expect(first.objects.map(({ name }) => name)).toEqual(["l/1", "l/2", "l/3/a"]);
  expect(first.nextStartWith).toBe("l/3/b");
  expect((await list({ start: "l/3/b" })).objects.map(({ name }) => name)).toEqual(["l/3/b", "l/4"]);
  expect((await list({ startAfter: "l/1", end: "l/3/b" })).objects.map(({ name }) => name)).toEqual(["l/2", "l/3/a"]);
  const folders = await list({ delimiter: "/", start: "l/2" });
  expect([folders.objects.map(({ name }) => name), folders.prefixes]).toEqual([["l/2", "l/4"], ["l/3/"]]);
});
