/**
 * `npm run services:install` gets every server that `npm run test:servers` and `npm run test:wide` start, into .cache;
 * with names, only those: `npm run services:install redis s3`. On Debian as root it installs the machine's packages
 * (Java, gcc, Chromium …) that are missing. Tests themselves install nothing.
 */
import { execFileSync } from "node:child_process";
import { canHaveH2, fetchJar } from "../test/oracle-stand-in/h2.ts";
import { isRoot, onPath } from "../test/services/binaries.ts";
import { unpackedRedis } from "../test/services/debian-redis.ts";
import { dynamodbJars } from "../test/services/dynamodb.ts";
import { buildFerretdb } from "../test/services/ferretdb.ts";
import { findMariadb } from "../test/services/mariadb.ts";
import { findOldestRedis } from "../test/services/oldest-redis.ts";
import { opensearchJars } from "../test/services/opensearch.ts";
import { findPgbouncer } from "../test/services/pgbouncer.ts";
import { postgresWithPgvector } from "../test/services/pgvector.ts";
import { redisWithModules } from "../test/services/redis-with-modules.ts";
import { buildS3 } from "../test/services/s3.ts";

process.env["HOLDFAST_INSTALL"] = "1";

interface Installable {
  /** Programs that it needs on PATH, each with the Debian package that brings it. */
  readonly needs: Readonly<Record<string, string>>;
  get(): Promise<unknown>;
}

const JAVA = { java: "openjdk-17-jre-headless", mvn: "maven" };

const INSTALLABLE: Readonly<Record<string, Installable>> = {
  redis: { needs: {}, get: async () => (await onPath("redis-server", "valkey-server")) ?? unpackedRedis() },
  pgvector: { needs: { gcc: "gcc libc6-dev" }, get: postgresWithPgvector },
  mysql: { needs: {}, get: findMariadb },
  opensearch: { needs: JAVA, get: opensearchJars },
  dynamodb: { needs: JAVA, get: dynamodbJars },
  s3: { needs: { go: "golang-go" }, get: buildS3 },
  ferretdb: { needs: { go: "golang-go" }, get: buildFerretdb },
  pgbouncer: { needs: {}, get: findPgbouncer },
  "redis-6.2": { needs: { pip: "python3-pip" }, get: findOldestRedis },
  "redis-with-modules": { needs: { pip: "python3-pip" }, get: redisWithModules },
  h2: { needs: JAVA, get: async () => ((await canHaveH2()) ? fetchJar() : undefined) },
  chromium: { needs: { chromium: "chromium fonts-dejavu-core" }, get: async () => onPath("chromium") },
};

const words = process.argv.slice(2);
const unknown = words.find((word) => !Object.hasOwn(INSTALLABLE, word));
if (unknown !== undefined) throw new Error(`no service "${unknown}"; there are ${Object.keys(INSTALLABLE).join(", ")}`);
const wanted = Object.entries(INSTALLABLE).filter(([name]) => words.length === 0 || words.includes(name));

const missing = new Set<string>();
for (const [, { needs }] of wanted) {
  for (const [program, debian] of Object.entries(needs)) {
    if ((await onPath(program)) === undefined) for (const name of debian.split(" ")) missing.add(name);
  }
}
if (missing.size > 0) installDebian([...missing]);

const failed: string[] = [];
for (const [name, { get }] of wanted) {
  const started = Date.now();
  try {
    const got = await get();
    const seconds = ((Date.now() - started) / 1000).toFixed(1);
    console.log(got === undefined ? `${name}: not for this machine` : `${name}: here (${seconds} s)`);
    if (got === undefined) failed.push(name);
  } catch (error) {
    failed.push(name);
    console.error(`${name}: ${error instanceof Error ? error.message : error}`);
  }
}
if (failed.length > 0) {
  console.error(`Not installed: ${failed.join(", ")}`);
  process.exitCode = 1;
}

function installDebian(packages: readonly string[]): void {
  if (!isRoot()) throw new Error(`install these first: ${packages.join(" ")}`);
  execFileSync("apt-get", ["-qq", "update"], { stdio: "inherit" });
  const quiet = ["-qq", "-y", "install", "--no-install-recommends"];
  execFileSync("apt-get", [...quiet, ...packages], { stdio: ["ignore", "ignore", "inherit"] });
}
