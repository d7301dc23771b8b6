import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { DynamodbCheckpointer } from "../../src/backends/dynamodb/index.ts";
import { dynamodbSource } from "../../src/backends/dynamodb/log.ts";
import { InMemoryStore } from "../../src/backends/memory/index.ts";
import { openCheckpointer } from "../../src/backends/open.ts";
import { openStore } from "../../src/backends/open-store.ts";
import { s3LogOptions } from "../../src/backends/s3/checkpointer.ts";
import { S3BucketCheckpointer, s3Store } from "../../src/backends/s3/index.ts";
import { s3BucketSource } from "../../src/backends/s3/log.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import type { Store } from "../../src/store/store.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { dynamodbPlace } from "../dynamodb/test-table.ts";
import { s3Place } from "../s3/test-bucket.ts";
import { mysqlPlace } from "../services/mysql-place.ts";
import { describeWithService } from "../services/with-service.ts";
import { fillEveryField, missingIn, storable, storedText, Words, withBytes, wordsIn } from "../session/every-field.ts";
import { KEY } from "../session/people.ts";
import { inBucket, inMysql, inPostgres, inRedis, type StoredIn } from "../session/stored-in.ts";
import { sampleKeyring } from "./sample-keyring.ts";

interface SealedPlace {
  readonly checkpointer: Checkpointer;
  readonly store: Store;
  /** What the server holds, indexes included. */
  readonly storedIn: StoredIn;
  readonly leave?: () => Promise<void>;
}

function sealsEveryField(create: (sealing: Sealing) => Promise<SealedPlace>): void {
  test("no table, key or object of the server holds a word of any field in plain, and an erasure takes one person's alone", async () => {
    const { keyring } = await sampleKeyring({ cacheMs: 0 });
    const { checkpointer, store, storedIn, leave } = await create(new Sealing({ keyring }));
    const [ann, bob] = [new Words("ann"), new Words("bob")];
    await fillEveryField(checkpointer, store, ann, bob, false, { sealed: true });
    const readable = async (): Promise<string> =>
      `${await storedText(checkpointer)}\n${storable([...(await store.list([], { recursive: true, limit: 1000 }))])}`;
    const before = await readable();
    expect(missingIn(before, ann)).toEqual([]);
    expect(missingIn(before, bob)).toEqual([]);
    const stored = withBytes(await storedIn());
    expect(stored.length).toBeGreaterThan(before.length / 2);
    expect(wordsIn(stored, ann)).toEqual([]);
    expect(wordsIn(stored, bob)).toEqual([]);
    const data = new PersonalData({
      checkpointers: [checkpointer],
      stores: [store],
      ledger: new InMemoryStore(),
      key: KEY,
    });
    expect(await data.eraseUser("ann")).toMatchObject({ verified: true });
    const after = await readable();
    expect(wordsIn(after, ann)).toEqual([]);
    expect(missingIn(after, bob)).toEqual([]);
    await data.close();
    await checkpointer.close();
    await store.close();
    await leave?.();
  });
}

/** A place of its own on a server, named in the URL. */
const ofUrl =
  (url: (own: string) => string, storedIn: (own: string) => StoredIn) =>
  async (sealing: Sealing): Promise<SealedPlace> => {
    const own = `sealed_${randomBytes(6).toString("hex")}`;
    const checkpointer = await openCheckpointer(url(own), { sealing });
    return { checkpointer, store: await openStore(url(own), { sealing }), storedIn: storedIn(own) };
  };

const withParameter = (url: string, parameter: string): string => `${url}${url.includes("?") ? "&" : "?"}${parameter}`;

await describeWithService("postgres", (url) => {
  sealsEveryField(
    ofUrl(
      (own) => withParameter(url, `schema=${own}`),
      (own) => inPostgres(url, own),
    ),
  );
});

await describeWithService("redis", (url) => {
  sealsEveryField(
    ofUrl(
      (own) => withParameter(url, `prefix=${own}:`),
      (own) => inRedis(url, own),
    ),
  );
});

await describeWithService("mysql", (server) => {
  sealsEveryField(async (sealing) => {
    const place = await mysqlPlace(server);
    const { url, dispose } = place;
    const checkpointer = await openCheckpointer(url, { sealing });
    return { checkpointer, store: await openStore(url, { sealing }), storedIn: inMysql(place), leave: dispose };
  });
});

await describeWithService("s3", (url) => {
  sealsEveryField(async (sealing) => {
    const { sealing: _, ...place } = s3Place(url);
    const { open } = s3BucketSource(s3LogOptions(place));
    return {
      checkpointer: new S3BucketCheckpointer({ ...place, sealing }),
      store: s3Store({ ...place, sealing }),
      storedIn: inBucket(open, place.prefix),
    };
  });
});

await describeWithService("dynamodb", (url) => {
  sealsEveryField(async (sealing) => {
    const place = dynamodbPlace(url);
    const { open, prefix } = dynamodbSource("a test", place);
    return {
      checkpointer: new DynamodbCheckpointer({ ...place, sealing }),
      store: new InMemoryStore(),
      storedIn: inBucket(open, prefix),
    };
  });
});
