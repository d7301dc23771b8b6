import fc from "fast-check";
import { expect } from "vitest";
import { connectionOf } from "../../src/backends/http/connect.ts";
import { HttpLog } from "../../src/backends/http/log.ts";
import type { Checkpointer } from "../../src/checkpoint/checkpointer.ts";
import type { AppendRequest, LogRecord } from "../../src/checkpoint/log/thread-log.ts";
import { createToken, type RunningService, serve } from "../../src/entry/server.ts";
import { placeAt, recordAt, requestFor } from "../../src/testing/thread-log-cases/sample-records.ts";
import { encodeAppend } from "../../src/wire/messages.ts";
import { entityTag } from "../../src/wire/names.ts";
import { FRAME_TYPE, SCOPES, type Scope } from "../../src/wire/protocol.ts";
import { pathOf } from "../../src/wire/routes.ts";
import { type RawAnswer, rawRequest } from "./raw-requests.ts";

/** In every part of what the victims store: the attacker must never read it. */
const SECRET = "zebra";
const VICTIMS = ["before", "after"] as const;
const RECORDS = 3;

/** One request of the attacker's, on a thread of its own. */
export type Attack =
  | { readonly kind: "append"; readonly request: AppendRequest }
  | { readonly kind: "list"; readonly before: number }
  | { readonly kind: "remove"; readonly seq: number }
  | { readonly kind: "remake" };

/** A service on some backend with two victims and, between them in the storage, an attacker. */
export class TwoTenants {
  readonly #service: RunningService;
  readonly #tokens: Readonly<Record<string, string>>;

  private constructor(service: RunningService, tokens: Readonly<Record<string, string>>) {
    this.#service = service;
    this.#tokens = tokens;
  }

  static async on(checkpointer: Checkpointer, scopes: readonly Scope[]): Promise<TwoTenants> {
    const made = ["before", "attacker", "after"].map((tenant) => ({ tenant, ...createToken() }));
    const auth = {
      tokens: made.map(({ tenant, sha256 }) => ({ tenant, sha256, scopes: tenant === "attacker" ? scopes : SCOPES })),
    };
    const service = await serve({ checkpointer, auth, port: 0, rateLimit: false });
    const tenants = new TwoTenants(service, Object.fromEntries(made.map(({ tenant, token }) => [tenant, token])));
    for (const { tenant } of made) await tenants.#fill(tenant);
    return tenants;
  }

  close(): Promise<void> {
    return this.#service.close();
  }

  async #fill(tenant: string): Promise<void> {
    const log = new HttpLog(connectionOf({ baseUrl: this.#service.url, token: this.#tokens[tenant] ?? "" }));
    const text = tenant === "attacker" ? "own" : `${SECRET} of ${tenant}`;
    for (let seq = 1; seq <= RECORDS; seq++) {
      const metadata = JSON.stringify({ text, seq });
      const record = recordAt(seq, { header: JSON.stringify({ text }), body: Buffer.from(text), metadata });
      await log.append("t", requestFor(record));
    }
    await log.close();
  }

  /** Every byte that the victims can read of what is theirs. */
  async victimsBytes(): Promise<readonly string[]> {
    const paths = [
      "/v1/threads?limit=100",
      pathOf("tail", { thread: "t" }),
      pathOf("readTail", { thread: "t" }),
      `${pathOf("list", { thread: "t" })}?limit=100`,
      ...Array.from({ length: RECORDS }, (_, index) =>
        pathOf("readCheckpoint", { thread: "t", checkpoint: `checkpoint-${index + 1}` }),
      ),
    ];
    const bytes: string[] = [];
    for (const victim of VICTIMS) {
      for (const path of paths) {
        const answer = await this.#send(victim, "GET", path);
        bytes.push(`${victim} ${path} ${answer.status} ${answer.headers["etag"]} ${answer.bytes.toString("latin1")}`);
      }
    }
    return bytes;
  }

  /** The attack must be answered properly, and not with anything of the victims'. */
  async attack(attack: Attack): Promise<RawAnswer> {
    const answer = await this.#carryOut(attack);
    expect(answer.bytes.toString("latin1"), "what the attacker is answered").not.toContain(SECRET);
    expect(answer.status, answer.body).toBeLessThan(500);
    return answer;
  }

  #carryOut(attack: Attack): Promise<RawAnswer> {
    switch (attack.kind) {
      case "append":
        return this.#append(attack.request);
      case "list":
        return this.#send("attacker", "GET", `${pathOf("list", { thread: "t" })}?limit=100&before=${attack.before}`);
      case "remove": {
        const headers = { "if-match": entityTag(placeAt(attack.seq)) };
        return this.#send("attacker", "DELETE", pathOf("remove", { thread: "t" }), headers);
      }
      case "remake":
        return this.#append(requestFor(recordAt(1)));
    }
  }

  #append(request: AppendRequest): Promise<RawAnswer> {
    const { expected } = request;
    const condition = expected.seq === 0 ? { "if-none-match": "*" } : { "if-match": entityTag(expected) };
    const headers = { "content-type": FRAME_TYPE, ...condition };
    return this.#send("attacker", "POST", pathOf("append", { thread: "t" }), headers, encodeAppend(request));
  }

  #send(
    tenant: string,
    method: string,
    path: string,
    headers: Readonly<Record<string, string>> = {},
    body?: Uint8Array,
  ): Promise<RawAnswer> {
    const own = { host: "localhost", authorization: `Bearer ${this.#tokens[tenant]}`, ...headers };
    return rawRequest(this.#service.port, { method, path, headers: own, ...(body !== undefined && { body }) });
  }
}

/** Positions of the own thread, of others where a storage joins a thread's number and a position, and nonsense. */
const position: fc.Arbitrary<number> = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 7 }) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.integer({ min: 1, max: 8 }), fc.constantFrom(16, 20, 24, 26, 32, 40), fc.integer({ min: 0, max: 5 }))
      .map(([k, bits, n]) => k * 2 ** bits + n),
  },
  { weight: 1, arbitrary: fc.constantFrom(-1, 0.5, -(2 ** 26) + 1, Number.MAX_SAFE_INTEGER, 2 ** 53, 1e300) },
);

const record: fc.Arbitrary<LogRecord> = fc
  .record({ seq: position, base: position, head: position, isMark: fc.boolean(), name: fc.nat(999) })
  .map(({ isMark, name, ...fields }) =>
    recordAt(4, { ...fields, writeId: `w${name}`, checkpointId: isMark ? undefined : `checkpoint-${name}` }),
  );

/** Mostly an append that would be accepted but for one or two of its numbers. */
const append: fc.Arbitrary<Attack> = fc
  .record(
    {
      expected: fc.oneof(fc.constant(RECORDS), fc.integer({ min: 0, max: 6 }), position),
      record,
      isOrderly: fc.boolean(),
      drop: fc.array(position, { maxLength: 3 }),
      dropBelow: position,
      replace: fc.array(record, { maxLength: 2 }),
    },
    { requiredKeys: ["expected", "record", "isOrderly"] },
  )
  .map(({ isOrderly, expected, record: own, ...edits }) => {
    const seq = expected + 1;
    const orderly = { ...own, seq, ...(own.checkpointId === undefined ? {} : { head: seq, base: 1 }) };
    return { kind: "append", request: { expected: placeAt(expected), record: isOrderly ? orderly : own, ...edits } };
  });

const attack: fc.Arbitrary<Attack> = fc.oneof(
  { weight: 6, arbitrary: append },
  {
    weight: 1,
    arbitrary: position
      .filter((n) => n >= 0 && n < 1e15 && Number.isInteger(n))
      .map((before) => ({ kind: "list", before }) as const),
  },
  {
    weight: 1,
    arbitrary: position
      .filter((n) => n >= 0 && n < 1e15 && Number.isInteger(n))
      .map((seq) => ({ kind: "remove", seq }) as const),
  },
  { weight: 1, arbitrary: fc.constant({ kind: "remake" } as const) },
);

/** The bytes of the victims are the same before and after, whatever the attacker sent. */
export async function assertTenantsApart(
  tenants: TwoTenants,
  parameters: { readonly seed: number; readonly numRuns: number },
): Promise<void> {
  const before = await tenants.victimsBytes();
  expect(before.join("\n").split(SECRET).length, "the victims have something to lose").toBeGreaterThan(20);
  const property = fc.asyncProperty(fc.array(attack, { minLength: 1, maxLength: 12 }), async (attacks) => {
    for (const each of attacks) await tenants.attack(each);
    expect(await tenants.victimsBytes()).toEqual(before);
  });
  await fc.assert(property, parameters);
}
