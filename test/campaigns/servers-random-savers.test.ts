import { Redis } from "ioredis";
import { afterAll, vi } from "vitest";
import { localPlace, postgresSaverPlace, redisSaverPlace, type SaverPlace } from "../saver/saver-places.ts";
import { proveRandomly } from "../saver/saver-suite.ts";
import { postgresPlace } from "../services/postgres-place.ts";
import { describeWithService } from "../services/with-service.ts";

vi.setConfig({ testTimeout: 3_600_000, hookTimeout: 900_000 });

const OPERATIONS = Number(process.env["HOLDFAST_RANDOM_OPERATIONS"] ?? 30_000);
const prove = (name: string, makePlace: () => Promise<SaverPlace>): void => proveRandomly(name, makePlace, OPERATIONS);

for (const name of ["memory", "sqlite", "file"]) prove(name, () => localPlace(name));
await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  afterAll(place.dispose);
  prove("postgres", async () => postgresSaverPlace(place));
});
await describeWithService("redis", (url) => {
  const admin = new Redis(url);
  afterAll(() => admin.disconnect());
  prove("redis", async () => redisSaverPlace(admin, url));
});
