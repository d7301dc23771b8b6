import { afterAll } from "vitest";
import { mysqlPlace } from "../services/mysql-place.ts";
import { describeWithService } from "../services/with-service.ts";
import { mysqlSaverPlace } from "./saver-places.ts";
import { proveSaver } from "./saver-suite.ts";

await describeWithService("mysql", async (url) => {
  const place = await mysqlPlace(url);
  afterAll(place.dispose);
  proveSaver("mysql", async () => mysqlSaverPlace(place), 100);
});
