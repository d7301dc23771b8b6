import { afterAll } from "vitest";
import { postgresPlace } from "../services/postgres-place.ts";
import { describeWithService } from "../services/with-service.ts";
import { postgresSaverPlace } from "./saver-places.ts";
import { proveSaver } from "./saver-suite.ts";

await describeWithService("postgres", (url) => {
  const place = postgresPlace(url);
  afterAll(place.dispose);
  proveSaver("postgres", async () => postgresSaverPlace(place), 400);
});
