import { afterEach, beforeEach } from "vitest";
import { OCIBucketBackend } from "../../src/backends/oci/index.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { OciStandIn } from "./stand-in.ts";
import { placeOn, type TestPlace } from "./test-bucket.ts";

/** A stand-in that each test of a file has to itself, and a place on it. */
export interface StandInOfTest {
  readonly standIn: OciStandIn;
  readonly place: TestPlace;
  open(options?: object): OCIBucketBackend;
  /** Of all objects that are there. */
  names(): readonly string[];
}

export function standInForEachTest(): StandInOfTest {
  let standIn: OciStandIn;
  let place: TestPlace;
  beforeEach(async () => {
    standIn = await OciStandIn.start({ mostListed: 100 });
    place = placeOn(standIn, "prod/");
  });
  afterEach(() => standIn.close());
  return {
    get standIn() {
      return standIn;
    },
    get place() {
      return place;
    },
    open: (options = {}) => new OCIBucketBackend({ ...place, ...options }),
    names: () => [...standIn.objects().keys()].sort(),
  };
}

/** For a test that counts requests: each is made once. */
export const ONCE = { retry: { attempts: 1 } };
export const saying = (text: string): AgentState => AgentState.create().withMessage(userMessage(text));
