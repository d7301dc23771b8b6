import { afterAll } from "vitest";
import { postgresSaverPlace } from "../saver/saver-places.ts";
import { postgresPlace } from "../services/postgres-place.ts";
import { describeWithService } from "../services/with-service.ts";
import { validate } from "./validation-suite.ts";

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  afterAll(place.dispose);
  validate("postgres", async () => postgresSaverPlace(place));
});
