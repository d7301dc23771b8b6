import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { OciStandIn } from "../../../test/oci-stand-in/stand-in.ts";
import { placeOn, type TestPlace } from "../../../test/oci-stand-in/test-bucket.ts";
import { AgentState } from "../../state/agent-state.ts";
import { userMessage } from "../../state/message.ts";
import { OCIBucketBackend } from "./index.ts";

let standIn: OciStandIn;
let subject: OCIBucketBackend;
beforeAll(async () => {
  standIn = await OciStandIn.start();
});
afterAll(() => standIn.close());
/** The requests that some work makes. */
async function requestsOf(work: () => Promise<unknown>): Promise<Record<string, number>> {
  const before = standIn.requests.length;
  await work();
  const counts: Record<string, number> = {};
  for (const { kind } of standIn.requests.slice(before)) counts[kind] = (counts[kind] ?? 0) + 1;
  return counts;
}

async function grow(threadId: string, saves: number, text = "x".repeat(500)): Promise<AgentState> {
  let state = AgentState.create();
  for (let count = 1; count <= saves; count++) {
    state = state.withMessage(userMessage(`${count} ${text}`));
    await subject.save(state, threadId);
  }
  return state;
}

let place: TestPlace;
/** As a second process would open it. */
const another = (): OCIBucketBackend => new OCIBucketBackend(place);
beforeEach(() => {
  place = placeOn(standIn);
  subject = another();
});

test("the first save is one PUT", async () => {
  expect(await requestsOf(() => grow("t", 1))).toEqual({ "put object": 1 });
});

test("a save is one PUT, and every sixteenth two, until pages are merged", async () => {
  const counts = await requestsOf(() => grow("t", 33));
  expect(counts).toEqual({ "put object": 33 + 2 });
});

test("a save after a load in another process is one GET and one PUT", async () => {
  await grow("t", 5);
  const other = another();
  const state = (await other.load("t")) as AgentState;
  expect(await requestsOf(() => other.save(state.withMessage(userMessage("more")), "t"))).toEqual({
    "get object": 1,
    "put object": 1,
  });
});

test("what a save sends does not grow with the thread; only the occasional merge is sent besides", async () => {
  const first = standIn.requests.length;
  await grow("t", 200);
  const sent = standIn.requests.slice(first).filter(({ kind }) => kind === "put object");
  const documents = sent.filter(({ name }) => name.includes("/threads/")).map(({ bytes }) => bytes);
  expect(documents).toHaveLength(200);
  // At the same distance from the last page: save 24 and save 184.
  expect(documents[183]).toBeLessThan(1.2 * (documents[23] ?? 0));
});

test("a large state is sent once, and not again with the saves after it", async () => {
  const large = "y".repeat(300_000);
  let state = await grow("t", 2);
  state = state.withMessage(userMessage(large));
  await subject.save(state, "t");
  const before = standIn.requests.length;
  for (let count = 0; count < 5; count++) {
    state = state.withMessage(userMessage("small"));
    await subject.save(state, "t");
  }
  for (const { bytes } of standIn.requests.slice(before)) expect(bytes).toBeLessThan(20_000);
});

test("a large first state is moved out of the document by the second save", async () => {
  const state = AgentState.create().withMessage(userMessage("y".repeat(300_000)));
  await subject.save(state, "t");
  expect(await requestsOf(() => subject.save(state.withMessage(userMessage("2")), "t"))).toEqual({ "put object": 2 });
  const before = standIn.requests.length;
  expect((await another().load("t"))?.messages).toHaveLength(2);
  expect(standIn.requests.slice(before).map(({ kind }) => kind)).toEqual(["get object", "get object"]);
});

test("a load of a short thread is one GET; of a long one, one and at most five more at once", async () => {
  await grow("short", 15);
  expect(await requestsOf(() => another().load("short"))).toEqual({ "get object": 1 });
  await grow("long", 150);
  const counts = await requestsOf(() => another().load("long"));
  expect(counts["get object"]).toBeLessThanOrEqual(6);
  expect(Object.keys(counts)).toEqual(["get object"]);
});

test("asking whether a thread is there is one GET", async () => {
  expect(await requestsOf(() => subject.load("absent"))).toEqual({ "get object": 1 });
  expect(await requestsOf(() => subject.exists("absent"))).toEqual({ "get object": 1 });
});

test("a history of 160 is read with at most five GETs", async () => {
  await grow("t", 160);
  const counts = await requestsOf(() => another().listCheckpoints("t", { limit: 160 }));
  expect(Object.keys(counts)).toEqual(["get object"]);
  expect(counts["get object"]).toBeLessThanOrEqual(5);
});

test("a fork of a short thread is one GET and one PUT, a copy also checks for a checkpoint and its open calls; both check for erasures meanwhile", async () => {
  await grow("t", 10);
  expect(await requestsOf(() => subject.copyThread("t", "copy"))).toEqual({ "get object": 5, "put object": 1 });
  expect(await requestsOf(() => subject.fork("t", "fork"))).toEqual({ "get object": 3, "put object": 1 });
});
