import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { dynamodbPlace, dynamodbUrl, wiredDynamodb } from "../../../test/dynamodb/test-table.ts";
import { failureOf } from "../../../test/failure-of.ts";
import { cutLoads, cutSaves } from "../../../test/network/wire-cuts.ts";
import { killCopies } from "../../../test/processes/killed-copies.ts";
import { Programs } from "../../../test/processes/programs.ts";
import { race } from "../../../test/processes/racing-writers.ts";
import { seededRandom } from "../../../test/processes/seeded-random.ts";
import { seed } from "../../../test/property-seed.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { AgentState } from "../../state/agent-state.ts";
import { textOf, userMessage } from "../../state/message.ts";
import { openCheckpointer } from "../open.ts";
import { classify } from "./classify.ts";
import { DynamodbCheckpointer, dynamodbCheckpointer } from "./index.ts";

afterEach(() => void vi.unstubAllEnvs());

const quickly = { retry: { attempts: 1 } };
const credentials = { accessKeyId: "key", secretAccessKey: "secret" };

/** A failure as the SDK throws it. */
const thrown = (name: string, message = "no", status = 400): Error =>
  Object.assign(new Error(message), { name, $metadata: { httpStatusCode: status } });

const failing = (error: Error): DynamodbCheckpointer =>
  dynamodbCheckpointer({ tableName: "threads", client: { send: () => Promise.reject(error) }, ...quickly });

describe("options", () => {
  test("a URL names the table, and keys in it are refused without being shown", async () => {
    await expect(openCheckpointer("dynamodb://")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    const failure = await openCheckpointer("dynamodb://AKIA1:very-secret@table").catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(String(failure)).not.toContain("very-secret");
    await expect(openCheckpointer("dynamodb://t?regoin=x")).rejects.toThrow('unknown parameter "regoin"');
    await expect(openCheckpointer("dynamodb://t?createTable=yes")).rejects.toThrow("must be true or false");
    await expect(openCheckpointer("dynamodb://t?expireAfterIdleDays=soon")).rejects.toThrow("expireAfterIdleDays");
  });

  test("behind an endpoint no durability is promised that cannot be known", () => {
    expect(dynamodbCheckpointer({ tableName: "t" }).capabilities.durability).toBe("replicated");
    const endpoint = "http://127.0.0.1:9";
    expect(dynamodbCheckpointer({ tableName: "t", endpoint }).capabilities.durability).toBe("os");
  });
});

describe("failures say what to do", () => {
  test("no credentials, no region, no permission, another key", async () => {
    const told: readonly (readonly [Error, string, string])[] = [
      [thrown("CredentialsProviderError"), "PERMISSION_DENIED", "AWS_ACCESS_KEY_ID"],
      [new Error("Region is missing"), "INVALID_ARGUMENT", "AWS_REGION"],
      [thrown("AccessDeniedException"), "PERMISSION_DENIED", "dynamodb:GetItem"],
      [
        thrown("ValidationException", "The provided key element does not match the schema"),
        "INVALID_ARGUMENT",
        "shard",
      ],
      [thrown("ResourceNotFoundException"), "INVALID_ARGUMENT", "aws dynamodb create-table --table-name threads"],
    ];
    for (const [error, code, hint] of told) {
      const failure = await failureOf(() => failing(error).load("t"));
      expect(failure).toMatchObject({ code });
      expect(failure.message).toContain(hint);
    }
  });

  test("the SDK itself tells that no region is named", async () => {
    for (const name of ["AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"]) vi.stubEnv(name, undefined);
    for (const name of ["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"]) vi.stubEnv(name, "/nonexistent");
    const subject = dynamodbCheckpointer({ tableName: "threads", credentials, ...quickly });
    const failure = await failureOf(() => subject.load("t"));
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(failure.message).toContain("AWS_REGION");
  });

  test("throttling can be retried, and what got no answer may have been written", async () => {
    for (const name of ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"]) {
      expect(classify(thrown(name))).toBe("RATE_LIMITED");
      expect(await failureOf(() => failing(thrown(name)).load("t"))).toMatchObject({ retryable: true });
    }
    expect(classify(thrown("InternalServerError", "no", 500))).toBe("UNAVAILABLE");
    expect(classify(Object.assign(new Error("no"), { code: "ECONNRESET" }))).toBe("UNAVAILABLE");
    expect(classify(new Error("anything else"))).toBeUndefined();
  });

  test("a server that is away is UNAVAILABLE, and not an empty store", async () => {
    const subject = dynamodbCheckpointer({ tableName: "t", endpoint: "http://127.0.0.1:9", credentials, ...quickly });
    expect(await failureOf(() => subject.load("t"))).toMatchObject({ code: "UNAVAILABLE" });
    expect(await failureOf(() => subject.listThreads())).toMatchObject({ code: "UNAVAILABLE" });
    await subject.close();
  });
});

await describeWithService("dynamodb", (server) => {
  /** What lies in the table below a prefix: sizes and ends by name. */
  async function itemsOf({ endpoint = "", prefix }: ReturnType<typeof dynamodbPlace>) {
    const { DynamoDBClient, ScanCommand } = await import("@aws-sdk/client-dynamodb");
    const client = new DynamoDBClient({
      endpoint,
      credentials: dynamodbPlace(server).credentials ?? credentials,
      region: "us-east-1",
    });
    const found = new Map<string, { readonly bytes: number; readonly expires: number | undefined }>();
    let from: Record<string, never> | undefined;
    do {
      const page = await client.send(
        new ScanCommand({ TableName: "holdfast-tests", ConsistentRead: true, ExclusiveStartKey: from }),
      );
      for (const { name, bytes, expires } of page.Items ?? []) {
        if (!name?.S?.startsWith(prefix)) continue;
        found.set(name.S.slice(prefix.length), {
          bytes: bytes?.B?.byteLength ?? 0,
          expires: expires && Number(expires.N),
        });
      }
      from = page.LastEvaluatedKey as Record<string, never> | undefined;
    } while (from !== undefined);
    client.destroy();
    return found;
  }

  test("a missing table is an error that says how to make it, and with read access it is no store", async () => {
    const { createTable: _, ...place } = dynamodbPlace(server);
    const elsewhere = { ...place, ...quickly, tableName: "no-such-table" };
    const failure = await failureOf(() => new DynamodbCheckpointer(elsewhere).load("t"));
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(failure.message).toContain("createTable: true");
    const reading = new DynamodbCheckpointer({ ...elsewhere, createTable: true, access: "read" });
    expect(await failureOf(() => reading.load("t"))).toMatchObject({ code: "NOT_FOUND" });
  });

  test("a message of two megabytes lies in several items, loads cold, and is deleted to the last of them", async () => {
    const place = dynamodbPlace(server);
    const subject = new DynamodbCheckpointer(place);
    const text = Array.from({ length: 200_000 }, (_, index) => `word ${index}`).join(" ");
    let state = AgentState.create().withMessage(userMessage(text));
    for (let save = 0; save < 3; save++) {
      await subject.save(state, "t");
      state = state.withMessage(userMessage(save === 0 ? text.toUpperCase() : "short"));
    }
    const items = await itemsOf(place);
    expect(items.size).toBeGreaterThan(3);
    expect(Math.max(...[...items.values()].map(({ bytes }) => bytes))).toBeLessThanOrEqual(400 * 1024);
    const loaded = await new DynamodbCheckpointer(place).load("t");
    expect(loaded?.messages.map(textOf)).toEqual([text, text.toUpperCase(), "short"]);
    expect(await subject.delete("t")).toBe(true);
    expect([...(await itemsOf(place)).keys()]).toEqual([]);
  });

  test("with an idle time, threads say when they expire and their pages do not", async () => {
    const now = Date.UTC(2030, 0, 1);
    const place = dynamodbPlace(server);
    const subject = new DynamodbCheckpointer({ ...place, now: () => now, expireAfterIdleDays: 7 });
    let state = AgentState.create();
    for (let save = 0; save < 20; save++) {
      state = state.withMessage(userMessage(`message ${save}`));
      await subject.save(state, "t");
    }
    const items = [...(await itemsOf(place))];
    const ends = (folder: string) =>
      items.filter(([name]) => name.startsWith(folder)).map(([, { expires }]) => expires);
    expect(ends("threads/")).toEqual([now / 1000 + 7 * 86_400]);
    expect(ends("records/").length).toBeGreaterThan(0);
    expect(new Set(ends("records/"))).toEqual(new Set([undefined]));
  });

  test("four processes that increment one thread at once lose nothing", async () => {
    const { url, environment } = dynamodbUrl(server);
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    const programs = await Programs.compile();
    try {
      expect(await race(programs, { url, processes: 4, increments: 10 })).toBeGreaterThan(0);
    } finally {
      await programs.dispose();
    }
  });

  test("a copy that is killed in the middle is whole when it is run again", async () => {
    const { url, environment } = dynamodbUrl(server);
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    const folder = await mkdtemp(join(tmpdir(), "holdfast-dynamodb-"));
    const programs = await Programs.pack("copying-program");
    try {
      const copies = { from: `sqlite:${join(folder, "source.db")}`, to: url, when: "during", args: [] } as const;
      expect(await killCopies(programs, { ...copies, at: [6, 11, 16] })).toBe(3);
    } finally {
      await programs.dispose();
      await rm(folder, { recursive: true });
    }
  });

  const EVERY = 61;
  const cuts = { every: EVERY, offset: seededRandom(seed).below(EVERY), onNewConnections: false };

  test(`a save is applied once, at whatever byte of it the connection is cut (every ${EVERY}th from ${cuts.offset}, HOLDFAST_SEED=${seed})`, async () => {
    const report = await cutSaves(wiredDynamodb(server), cuts);
    console.log(
      `dynamodb: ${report.cuts} cuts in saves, every ${EVERY}th byte; ${report.appliedUnseen} were written unseen`,
    );
    expect(report.cuts).toBeGreaterThan(20);
    expect(report.failed).toBeGreaterThan(0);
  });

  test("a load gives the state or an error, at whatever byte of it the connection is cut", async () => {
    const report = await cutLoads(wiredDynamodb(server), cuts);
    expect(report.cuts).toBeGreaterThan(20);
    expect(report.failed).toBeGreaterThan(0);
  });
});
