import { execFile } from "node:child_process";
import { chmod, chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { unprivilegedUser } from "../../../test/services/binaries.ts";
import { startPostgres } from "../../../test/services/postgres.ts";
import { postgresPlace } from "../../../test/services/postgres-place.ts";
import type { TestServer } from "../../../test/services/server-process.ts";
import { describeWithService } from "../../../test/services/with-service.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { isDeclined } from "./declined.ts";
import { explained } from "./explain.ts";
import { postgresqlCheckpointer } from "./index.ts";

const said = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));
const ONCE = { attempts: 1 };

/** A server that speaks TLS with a self-signed certificate. */
async function startSecure(): Promise<{ server: TestServer; certificate: string; dispose: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-certificate-"));
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
  const made = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", certificate];
  await promisify(execFile)("openssl", ["req", ...made, ...subject]);
  await chmod(folder, 0o755);
  const user = await unprivilegedUser("postgres", "nobody");
  if (user !== undefined) await chown(key, user.uid, user.gid);
  const server = await startPostgres({ settings: { ssl: "on", ssl_cert_file: certificate, ssl_key_file: key } });
  return { server, certificate, dispose: () => server.stop().then(() => rm(folder, { recursive: true })) };
}

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  const { schema, sql } = place;
  afterAll(place.dispose);

  const failing = async (dsn: string, options: object = {}): Promise<unknown> =>
    place
      .open({ dsn, tablePrefix: place.prefix(), ...options })
      .connect()
      .catch((error: unknown) => error);

  test("a server that asks for a password when the DSN has no password: PERMISSION_DENIED at once, with a hint", async () => {
    vi.stubEnv("PGPASSWORD", "");
    vi.stubEnv("PGPASSFILE", "/nowhere");
    const address = new URL(url);
    address.password = "";
    const began = performance.now();
    const failure = await failing(address.href, { connectTimeoutMs: 240_000 });
    vi.unstubAllEnvs();
    expect(performance.now() - began).toBeLessThan(120_000);
    expect(failure).toMatchObject({
      code: "PERMISSION_DENIED",
      message: expect.stringMatching(/asks for a password and there is none: put it into the dsn .*PGPASSWORD/),
    });
  });

  test("SSL that the server does not have is INVALID_ARGUMENT and says what to do", async () => {
    expect(await failing(`${url}?sslmode=verify-full`)).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringMatching(
        /does not support SSL connections: turn SSL on at the server, or take sslmode out/,
      ),
    });
  });

  test("a schema that the server keeps for itself is INVALID_ARGUMENT and says so", async () => {
    expect(await failing(url, { schema: "pg_agents" })).toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringMatching(/unacceptable schema name "pg_agents": choose another schema/),
    });
  });

  test("a read-only server and lock_timeout say that nothing was written", async () => {
    const tablePrefix = place.prefix();
    const owner = place.open({ dsn: url, tablePrefix });
    await owner.save(said("hello"), "t1");
    const granted = async (setting: string): Promise<string> => {
      const role = await place.role(setting);
      await sql(`GRANT USAGE ON SCHEMA ${schema} TO ${role.name}`);
      await sql(`GRANT ALL ON ALL TABLES IN SCHEMA ${schema} TO ${role.name}`);
      return role.url;
    };
    const reader = place.open({
      dsn: await granted("SET default_transaction_read_only = on"),
      tablePrefix,
      retry: ONCE,
    });
    await reader.connect();
    await expect(reader.save(said("hello"), "t9")).rejects.toMatchObject({
      code: "UNAVAILABLE",
      context: { written: "no" },
      message: expect.stringMatching(/connect to the primary\. Nothing was written/),
    });
    const hasty = place.open({ dsn: await granted("SET lock_timeout = '100ms'"), tablePrefix, retry: ONCE });
    const state = (await hasty.load("t1"))!.withMessage(userMessage("more"));
    const holder = new Client({ connectionString: url });
    await holder.connect();
    await holder.query(`BEGIN; SELECT FROM ${schema}.${tablePrefix}threads FOR UPDATE`);
    const failure = await hasty.save(state, "t1").catch((error: unknown) => error);
    await holder.end();
    expect(failure).toMatchObject({ code: "TIMEOUT", context: { written: "no" } });
  });

  describe("a server whose certificate is self-signed", () => {
    let secure: Awaited<ReturnType<typeof startSecure>>;
    beforeAll(async () => {
      secure = await startSecure();
    });
    afterAll(() => secure.dispose());

    test("is PERMISSION_DENIED with a hint, and works once its certificate is named", async () => {
      expect(await failing(`${secure.server.url}?sslmode=verify-full`)).toMatchObject({
        code: "PERMISSION_DENIED",
        // Newer releases of Node add their own advice to the message.
        message: expect.stringMatching(
          /self-signed certificate.*: the server's certificate is not trusted.*sslrootcert/,
        ),
      });
      const trusting = `${secure.server.url}?sslmode=verify-full&sslrootcert=${secure.certificate}`;
      await using checkpointer = postgresqlCheckpointer({ dsn: trusting });
      await checkpointer.save(said("hello"), "t1");
      expect(await checkpointer.exists("t1")).toBe(true);
    });

    test("a certificate file that is not there is INVALID_ARGUMENT", async () => {
      expect(await failing(`${secure.server.url}?sslmode=verify-full&sslrootcert=/nowhere/ca.pem`)).toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringContaining("a file that the dsn names (sslrootcert, sslcert, sslkey) cannot be read"),
      });
    });
  });
});

test("the server's message about missing encryption and a pooler's message about its parameters are explained", () => {
  const coded = (code: string, message: string): Error => Object.assign(new Error(message), { code });
  const hba = coded("28000", 'no pg_hba.conf entry for host "10.0.0.1", user "a", database "b", no encryption');
  expect(explained(hba)).toMatchObject({
    code: "PERMISSION_DENIED",
    message: expect.stringContaining("sslmode=verify-full"),
  });
  const pooler = coded("08P01", "unsupported startup parameter: options");
  expect(explained(pooler)).toMatchObject({ message: expect.stringContaining("ignore_startup_parameters") });
  const other = coded("XX000", "whatever");
  expect(explained(other)).toBe(other);
});

test("only states that prove it say that nothing was written", () => {
  const state = (code: string): Error => Object.assign(new Error("…"), { code });
  for (const code of ["25006", "40001", "40P01", "53100", "55P03", "57014"])
    expect(isDeclined(state(code)), code).toBe(true);
  for (const code of ["57P01", "08006", "08003", "XX000", "ECONNRESET"])
    expect(isDeclined(state(code)), code).toBe(false);
});
