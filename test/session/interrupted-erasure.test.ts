import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openStore } from "../../src/backends/open-store.ts";
import { CoreUserStore } from "../../src/session/user-store.ts";
import { PersonalData } from "../../src/wiring/personal-data.ts";
import { DISK_BACKENDS } from "../processes/disk-backends.ts";
import { Programs } from "../processes/programs.ts";
import { diskUrls } from "./disk-urls.ts";
import { fillPlace, killAtEveryStep } from "./interrupted-suite.ts";
import { KEY, readableIn, userOf } from "./people.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-interrupted-erasure-"));
let programs: Programs;
beforeAll(async () => {
  programs = await Programs.compile();
});
afterAll(async () => {
  await programs.dispose();
  await rm(folder, { recursive: true });
});

describe.each(DISK_BACKENDS)("on %s", (backend) => {
  // Every step, and servers too: test/campaigns/erasing-killed.test.ts.
  test("an erasure that is killed at any step is finished by the next process that opens the backends", async () => {
    const source = await mkdtemp(join(folder, "filled-"));
    await fillPlace(diskUrls(backend, source));
    const place = async (moment: number) => {
      const directory = join(folder, `${backend}-${moment}`);
      await cp(source, directory, { recursive: true });
      const readable = (people: readonly number[]) => readableIn(directory, people);
      return { ...diskUrls(backend, directory), readable, dispose: () => rm(directory, { recursive: true }) };
    };
    const { kills } = await killAtEveryStep(programs, place, 9);
    expect(kills).toBeGreaterThan(2);
  });

  test("a restored backup is cleaned before its first use, and what came after the erasure stays", async () => {
    const directory = await mkdtemp(join(folder, "live-"));
    const backup = join(folder, `${backend}-backup`);
    const [live, old] = [diskUrls(backend, directory), diskUrls(backend, backup)];
    await fillPlace(live);
    await cp(directory, backup, { recursive: true });
    const ledger = await openStore(`sqlite:${join(folder, `${backend}-ledger.db`)}`);
    const data = new PersonalData({ checkpointers: [live.threads], stores: [live.items], ledger, key: KEY });
    await data.eraseUser(userOf(0));
    await data.eraseUser(userOf(1), { process: "keep" });
    await data.close();
    expect(await readableIn(backup, [0, 1])).toEqual([0, 1]);

    const later = new PersonalData({ checkpointers: [old.threads], stores: [old.items], ledger, key: KEY });
    const { stores } = await later.open();
    expect(await readableIn(backup, [0])).toEqual([]);
    expect(await readableIn(backup, [2, 3])).toEqual([2, 3]);
    const left = await later.inventory(userOf(1));
    expect(new Set(left.places.map(({ backend: place }) => place))).toEqual(new Set(["threads 1"]));
    expect(await later.receipts()).toHaveLength(2);

    const users = new CoreUserStore(async () => stores[0] as never);
    await users.set(userOf(0), "email", "back@example.com");
    await later.open();
    expect(await users.get(userOf(0), "email")).toBe("back@example.com");
    await later.close();
    await ledger.close();
  });
});
