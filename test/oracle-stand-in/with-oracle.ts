import { randomBytes } from "node:crypto";
import { afterAll, describe } from "vitest";
import type { OracleCheckpointerOptions } from "../../src/backends/oracle/index.ts";
import { behindProxy } from "../network/outage-proxy.ts";
import { copyTables } from "../services/copied-tables.ts";
import { CREATE_VECTOR } from "../services/pgvector.ts";
import { describeWithService } from "../services/with-service.ts";
import { dsnOf, type OraclePlace, oraclePlace } from "./oracle-place.ts";

/** A database for a suite: a live one where the environment names it, else the stand-in. */
export interface TestOracle {
  /** How to connect, to tables of a name that is fresh each time. */
  readonly options: () => OracleCheckpointerOptions;
  /** Only on the stand-in: the PostgreSQL that answers, and the schema that everything lies in. */
  readonly behind?: { readonly url: string; readonly schema: string };
  /** The same over a line that can be cut; over one that cannot, where the database is live. */
  readonly overLine: () => Promise<{
    readonly options: OracleCheckpointerOptions;
    readonly outage?: () => Promise<() => Promise<void>>;
    readonly cleanup: () => Promise<void>;
    readonly copy?: () => Promise<() => Promise<void>>;
  }>;
}

/** `describe` for suites that run unchanged against a live database, when HOLDFAST_TEST_ORACLE_DSN and the others are set. */
export async function describeWithOracle(body: (oracle: TestOracle) => void, needs: StandInNeeds = {}): Promise<void> {
  const live = liveDatabase();
  if (live !== undefined) return void describe("a live Oracle database", () => body(live));
  await describeWithStandIn((place, url) => {
    const { user, password, tableName, dsn } = place;
    body({
      options: () => ({ dsn, user, password, tableName: tableName() }),
      behind: { url, schema: user },
      overLine: async () => {
        const { url: proxied, ...rest } = await behindProxy(url);
        const own = tableName();
        const copy = () => copyTables(place.sql, user, `${own}(_|$)`);
        return { options: { dsn: dsnOf(proxied), user, password, tableName: own }, copy, ...rest };
      },
    });
  }, needs);
}

/** Vectors of Oracle's are pgvector's here. */
export interface StandInNeeds {
  readonly vectors?: boolean;
}

/** `describe` for what is true of the stand-in, or needs to look behind it. */
export async function describeWithStandIn(
  body: (place: OraclePlace, postgresUrl: string) => void,
  { vectors = false }: StandInNeeds = {},
): Promise<void> {
  await describeWithService(vectors ? "pgvector" : "postgres", async (url) => {
    const place = await oraclePlace(url);
    if (vectors) await place.sql(CREATE_VECTOR);
    afterAll(place.dispose);
    body(place, url);
  });
}

/** Its tables stay: a database that is named for tests needs a user whose schema can be dropped. */
function liveDatabase(): TestOracle | undefined {
  const { env } = process;
  const dsn = env["HOLDFAST_TEST_ORACLE_DSN"];
  const user = env["HOLDFAST_TEST_ORACLE_USER"];
  const password = env["HOLDFAST_TEST_ORACLE_PASSWORD"];
  if (dsn === undefined || user === undefined || password === undefined) return undefined;
  const walletLocation = env["HOLDFAST_TEST_ORACLE_WALLET"];
  const walletPassword = env["HOLDFAST_TEST_ORACLE_WALLET_PASSWORD"];
  const run = randomBytes(4).toString("hex");
  let tables = 0;
  const options = (): OracleCheckpointerOptions => ({
    dsn,
    user,
    password,
    ...(walletLocation !== undefined && { walletLocation }),
    ...(walletPassword !== undefined && { walletPassword }),
    tableName: `HF_${run}_${++tables}`,
  });
  return { options, overLine: async () => ({ options: options(), cleanup: async () => undefined }) };
}
