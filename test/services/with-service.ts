import { once } from "node:events";
import { get, type IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { describe, inject, test } from "vitest";
import type { ServiceAnswer } from "./desk.ts";
import { isWanted, requiredServices, type ServiceName } from "./services.ts";

/**
 * `describe` for suites that need a real server:
 *
 *     await describeWithService("redis", (url) => { test(…) });
 *
 * The server is shared by the whole run, so a suite keeps to a schema or a key
 * prefix of its own. Where there is none, the suite is skipped and says how to
 * get one; with HOLDFAST_TEST_REQUIRE naming it, it fails.
 */
export async function describeWithService(
  name: ServiceName,
  body: (url: string) => void | Promise<void>,
): Promise<void> {
  const answer = await askFor(name);
  if ("url" in answer) return void describe(name, () => body(answer.url));
  if (isWanted(name) && requiredServices().includes(name)) {
    throw new Error(`HOLDFAST_TEST_REQUIRE asks for ${name}, and there is none: ${answer.missing}`);
  }
  describe.skip(name, () => test(`skipped: ${answer.missing}`, () => undefined));
}

/** On a new machine the answer comes when the server was downloaded or built: `fetch` would wait five minutes and no longer. */
export async function askFor(name: ServiceName): Promise<ServiceAnswer> {
  const [response] = (await once(get(`${inject("serviceDesk")}/${name}`), "response")) as [IncomingMessage];
  const told = await text(response);
  if (response.statusCode !== 200) throw new Error(`${name} could not be started: ${told}`);
  return JSON.parse(told) as ServiceAnswer;
}
