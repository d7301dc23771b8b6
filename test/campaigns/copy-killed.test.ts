import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { killedEverywhere, stores } from "../cli/copy-ends.ts";
import { dynamodbUrl } from "../dynamodb/test-table.ts";
import { served, sqliteFolder } from "../http/served.ts";
import { LOCAL_BACKENDS, type LocalBackend } from "../local-backends.ts";
import { OciStandIn } from "../oci-stand-in/stand-in.ts";
import { describeWithStandIn } from "../oracle-stand-in/with-oracle.ts";
import { killCopies } from "../processes/killed-copies.ts";
import { Programs } from "../processes/programs.ts";
import { sharedOnDisk, sharedOnServer } from "../processes/shared-storage.ts";
import { s3Url } from "../s3/test-bucket.ts";
import { describeWithService } from "../services/with-service.ts";
import { reportCampaign } from "./report.ts";

afterEach(() => vi.restoreAllMocks());

const [memory, dict, , sqlite] = LOCAL_BACKENDS as [LocalBackend, LocalBackend, LocalBackend, LocalBackend];
const PAIRS = [memory, dict].flatMap((other) => [
  { source: other, target: sqlite },
  { source: sqlite, target: other },
]);

// What lies in this process's memory cannot be killed by the system: every call fails from one on.
describe.each(PAIRS)("from $source.name to $target.name", ({ source, target }) => {
  test.each([
    ["before", []],
    ["after", []],
    ["before", ["--cut-over"]],
    ["after", ["--cut-over"]],
  ] as const)("a copy that dies %s any driver call is whole when it is run again: %j", (when, args) =>
    stores(source, target, async (from, to) => {
      expect(await killedEverywhere(from, to, when, args)).toBeGreaterThan(15);
    }),
  );
});

let programs: Programs;
beforeAll(async () => {
  programs = await Programs.pack("copying-program");
});
afterAll(() => programs.dispose());

/** Only these driver calls: `HOLDFAST_KILLED_CALLS=3,9`, for a quick look. */
const chosen = process.env["HOLDFAST_KILLED_CALLS"]?.split(",").map(Number);

/** Killed by the system at every driver call, to and from SQLite. */
function proveKilled(name: string, place: () => Promise<string> | string): void {
  test.each([
    ["during", [], "from"],
    ["during", [], "to"],
    ["before", ["--cut-over"], "from"],
    ["before", ["--cut-over"], "to"],
  ] as const)(`SIGKILL %s any driver call of copy, %j, %s ${name}`, async (when, args, direction) => {
    const began = performance.now();
    const disk = await sharedOnDisk("sqlite");
    const other = await place();
    const ends = direction === "from" ? { from: other, to: disk.url } : { from: disk.url, to: other };
    const kills = await killCopies(programs, { ...ends, when, args, ...(chosen !== undefined && { at: chosen }) });
    expect(kills).toBeGreaterThan(chosen === undefined ? 15 : 0);
    await disk.dispose();
    const calls = chosen === undefined ? "every driver call" : `driver calls ${chosen.join(", ")}`;
    const proven = `equal and no write id twice after SIGKILL ${when} ${calls} ${args.join(" ")}`;
    reportCampaign(`copy ${direction} ${name}`, began, proven, { kills });
  });
}

describe("file", () => {
  proveKilled("file", async () => (await sharedOnDisk("file")).url);
});

for (const name of ["postgres", "redis", "opensearch"] as const) {
  await describeWithService(name, (url) => proveKilled(name, () => sharedOnServer(url).url));
}

await describeWithService("s3", (server) => {
  proveKilled("s3", () => {
    const { url, environment } = s3Url(server);
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    return url;
  });
});

await describeWithService("dynamodb", (server) => {
  proveKilled("dynamodb", () => {
    const { url, environment } = dynamodbUrl(server);
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    return url;
  });
});

describe("http", () => {
  proveKilled("http", async () => {
    const { service, token } = await served((await sqliteFolder()).open());
    return service.url.replace("//", `//:${token}@`);
  });
});

describe("the stand-in of OCI", () => {
  let standIn: OciStandIn;
  let folder: string;
  beforeAll(async () => {
    standIn = await OciStandIn.start({});
    folder = await mkdtemp(join(tmpdir(), "holdfast-oci-"));
  });
  afterAll(async () => {
    await standIn.close();
    await rm(folder, { recursive: true });
  });
  let places = 0;
  proveKilled("oci", async () => {
    const { namespace, endpoint } = standIn;
    const query = new URLSearchParams({ namespace, endpoint, configFile: await standIn.writeConfig(folder) });
    return `oci://threads/copied-${++places}/?${query}`;
  });
});

await describeWithStandIn((place) => {
  proveKilled("oracle", () => {
    const [address, service] = place.dsn.split("/");
    return `oracle://${place.user}:${place.password}@${address}/${service}?tableName=${place.tableName()}`;
  });
});
