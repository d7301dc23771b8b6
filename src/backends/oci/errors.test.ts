import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { failureOf } from "../../../test/failure-of.ts";
import { noticedByClients } from "../../../test/network/noticed-by-clients.ts";
import { filledLog } from "../../../test/oci-stand-in/filled-log.ts";
import { ONCE, saying, standInForEachTest } from "../../../test/oci-stand-in/for-each-test.ts";
import { OciStandIn } from "../../../test/oci-stand-in/stand-in.ts";
import { logOptions } from "../../../test/oci-stand-in/test-bucket.ts";
import { OciLog } from "./log.ts";

const oci = standInForEachTest();

describe("errors", () => {
  test.each([
    [503, "ServiceUnavailable", "UNAVAILABLE"],
    [500, "InternalServerError", "UNAVAILABLE"],
    [409, "ConcurrentObjectUpdate", "UNAVAILABLE"],
    [429, "TooManyRequests", "RATE_LIMITED"],
    [401, "NotAuthenticated", "PERMISSION_DENIED"],
    [403, "NotAllowed", "PERMISSION_DENIED"],
    [404, "NotAuthorizedOrNotFound", "PERMISSION_DENIED"],
    [404, "NamespaceNotFound", "INVALID_ARGUMENT"],
    [404, "BucketNotFound", "INVALID_ARGUMENT"],
    [400, "QuotaExceeded", "STORAGE_FULL"],
    [413, "RequestEntityTooLarge", "TOO_LARGE"],
  ])('%i %s is %s, for a load as for a save, and never "no state"', async (status, code, expected) => {
    const subject = oci.open(ONCE);
    await subject.save(saying("hello"), "t");
    oci.standIn.faultAt = () => ({ when: "before", answer: { status, code } });
    for (const call of [
      () => subject.load("t"),
      () => subject.exists("t"),
      () => subject.listThreads(),
      () => subject.save(saying("x"), "u"),
    ]) {
      expect(await failureOf(call)).toMatchObject({ code: expected, context: { backend: "oci" } });
    }
    expect((await failureOf(() => subject.load("t"))).message).toMatch(/^oci: load failed for thread "t": /);
  });

  test("a server that is not there is UNAVAILABLE, and the message says why", async () => {
    const gone = await OciStandIn.start();
    const { endpoint } = gone;
    await gone.close();
    const subject = oci.open({ ...ONCE, endpoint });
    expect(await failureOf(() => subject.load("t"))).toMatchObject({
      code: "UNAVAILABLE",
      message: 'oci: load failed for thread "t": the connection failed: ECONNREFUSED',
    });
  });

  test.each([301, 302, 303, 307, 308])("a redirect (%i) carries no record elsewhere", async (status) => {
    const stolen: string[] = [];
    const elsewhere = createServer((request, response) => {
      stolen.push(request.url ?? "");
      response.end();
    }).listen(0, "127.0.0.1");
    const redirecting = createServer((request, response) => {
      request.resume();
      const { port } = elsewhere.address() as AddressInfo;
      response.writeHead(status, { location: `http://127.0.0.1:${port}/` }).end();
    }).listen(0, "127.0.0.1");
    await Promise.all([once(elsewhere, "listening"), once(redirecting, "listening")]);
    const endpoint = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`;
    const subject = oci.open({ ...ONCE, endpoint });
    for (const call of [() => subject.load("t"), () => subject.save(saying("hello"), "t")]) {
      expect(await failureOf(call)).toMatchObject({
        code: "UNAVAILABLE",
        message: expect.stringMatching(/a redirect/),
      });
    }
    expect(stolen).toEqual([]);
    for (const server of [elsewhere, redirecting]) {
      server.closeAllConnections();
      server.close();
    }
    await noticedByClients();
  });

  test("a server that does not answer is TIMEOUT after the given time", async () => {
    const subject = oci.open({ ...ONCE, requestTimeoutMs: 50 });
    oci.standIn.faultAt = () => ({ when: "before", answer: "silence" });
    expect(await failureOf(() => subject.load("t"))).toMatchObject({
      code: "TIMEOUT",
      message: 'oci: load failed for thread "t": no answer within 50 ms',
    });
  });

  test("a wrong signature is refused by the stand-in, as PERMISSION_DENIED", async () => {
    const other = await OciStandIn.start();
    await other.close();
    const { auth } = other;
    expect(await failureOf(() => oci.open({ ...ONCE, auth }).load("t"))).toMatchObject({
      code: "PERMISSION_DENIED",
      message: expect.stringContaining("the signature is not that of the request"),
    });
  });

  test("nothing is written to the console, also when the service refuses", async () => {
    const spies = (["warn", "error", "log"] as const).map((method) => vi.spyOn(console, method));
    const [one, other] = [oci.open(), oci.open()];
    await one.load("absent");
    await one.save(saying("1"), "t");
    expect(await failureOf(() => other.save(saying("2"), "t"))).toMatchObject({ code: "CONFLICT" });
    for (const spy of spies) {
      expect(spy).not.toHaveBeenCalled();
      spy.mockRestore();
    }
  });

  test("a changed object is CORRUPT and named; one of a newer version is INCOMPATIBLE", async () => {
    const subject = oci.open();
    await subject.save(saying("hello"), "t");
    const [name = ""] = oci.names();
    const { bytes, etag } = oci.standIn.objects().get(name)!;
    const at = bytes.indexOf('"threadId"') + 3;
    const changed = Buffer.from(bytes);
    changed[at] = 0x58;
    oci.standIn.objects().set(name, { etag, bytes: changed });
    expect(await failureOf(() => subject.load("t"))).toMatchObject({ code: "CORRUPT", context: { location: name } });
    oci.standIn.objects().set(name, {
      etag,
      bytes: Buffer.from(bytes.toString("latin1").replace("holdfast-object 1", "holdfast-object 2"), "latin1"),
    });
    expect(await failureOf(() => subject.load("t"))).toMatchObject({
      code: "INCOMPATIBLE",
      context: { location: name },
    });
    oci.standIn.objects().set(name.replace(/t$/, "u"), { etag, bytes });
    expect(await failureOf(() => subject.load("u"))).toMatchObject({ code: "CORRUPT" });
    oci.standIn.objects().set(name, { etag, bytes: changed });
    for (const threadId of ["t", "u"]) expect(await subject.delete(threadId)).toBe(true);
    expect(oci.names()).toEqual([]);
  });

  test("a missing page is CORRUPT and named, never a shorter history", async () => {
    const log = await filledLog(oci.place, "t", 40);
    const page = oci.names().find((name) => /0000000001-[^/]*-page$/.test(name))!;
    oci.standIn.objects().delete(page);
    const fresh = new OciLog(logOptions(oci.place));
    const failure = await fresh.list("t", { limit: 100 }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "CORRUPT", context: { location: page } });
    await log.close();
  });
});
