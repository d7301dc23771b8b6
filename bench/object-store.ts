import { rmSync } from "node:fs";
import { S3Client } from "@aws-sdk/client-s3";
import { S3BucketCheckpointer } from "../src/backends/s3/index.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { s3Place } from "../test/s3/test-bucket.ts";
import { startS3 } from "../test/services/s3.ts";
import { SERVICES } from "../test/services/services.ts";
import { keepLimits, type LimitRow, limit } from "./limits.ts";
import { median, timed } from "./statistics.ts";
import { kilobytes, milliseconds, renderTable } from "./table.ts";
import { type Verdict, verdict } from "./targets.ts";
import { conversation } from "./workload.ts";

const LENGTHS = [10, 400, 1500, 4000] as const;
/** Around each length, because now and then a save folds pages together. */
const SAVES_LOOKED_AT = 8;

interface Traffic {
  readonly requests: number;
  /** Requests one after another: each is one round behind the last one whose answer it could have waited for. */
  readonly rounds: number;
  readonly sent: number;
  readonly received: number;
}

interface AtLength {
  readonly length: number;
  readonly save: Traffic;
  readonly saveMs: number;
  readonly coldLoad: Traffic;
  readonly coldLoadMs: number;
}

export interface ObjectStoreResult {
  readonly lengths: readonly AtLength[];
  readonly verdicts: readonly Verdict[];
}

/** What a save and a cold load cost on a real server that speaks S3's protocol, as a thread grows. */
export async function benchObjectStore(seed: number): Promise<ObjectStoreResult | undefined> {
  if (!(await SERVICES.s3.isHere())) {
    console.log(`\nS3 is not measured: ${SERVICES.s3.howToGet}`);
    return undefined;
  }
  const server = await startS3();
  try {
    const lengths = await grow(server.url, seed);
    console.log(`\n${tableOf(lengths)}`);
    const verdicts = judge(lengths);
    keepLimits("object-store", limitsOf(verdicts));
    return { lengths, verdicts };
  } finally {
    await server.stop();
    rmSync(server.folder, { recursive: true, force: true });
  }
}

async function grow(url: string, seed: number): Promise<readonly AtLength[]> {
  const place = s3Place(url);
  const writer = countingClient(place);
  const checkpointer = new S3BucketCheckpointer({ ...placeOf(place), client: writer.client });
  const texts = conversation(seed, 100);
  const measured: AtLength[] = [];
  let state = AgentState.create();
  let [traffic, durations] = [[] as Traffic[], [] as number[]];
  for (let step = 1; step <= Math.max(...LENGTHS); step++) {
    state = state.withMessage(texts[step % texts.length] ?? { role: "user", content: "" });
    writer.reset();
    const saveMs = await timed(() => checkpointer.save(state, "long"));
    const next = LENGTHS.find((length) => step <= length && step > length - SAVES_LOOKED_AT);
    if (next !== undefined) {
      traffic.push(writer.traffic());
      durations.push(saveMs);
    }
    if (step !== next) continue;
    measured.push({ length: step, save: mean(traffic), saveMs: median(durations), ...(await coldLoad(place, step)) });
    [traffic, durations] = [[], []];
  }
  await checkpointer.close();
  return measured;
}

async function coldLoad(
  place: ReturnType<typeof s3Place>,
  messages: number,
): Promise<Pick<AtLength, "coldLoad" | "coldLoadMs">> {
  const reader = countingClient(place);
  const checkpointer = new S3BucketCheckpointer({ ...placeOf(place), client: reader.client });
  let found = 0;
  const coldLoadMs = await timed(async () => {
    found = (await checkpointer.load("long"))?.messages.length ?? 0;
  });
  if (found !== messages) throw new Error(`a load found ${found} of ${messages} messages`);
  await checkpointer.close();
  return { coldLoad: reader.traffic(), coldLoadMs };
}

const placeOf = ({ bucketName, prefix }: ReturnType<typeof s3Place>) => ({ bucketName, prefix });

/** The SDK's own client, with everything that leaves it counted. */
function countingClient({ endpoint = "", credentials }: ReturnType<typeof s3Place>) {
  const client = new S3Client({
    endpoint,
    region: "us-east-1",
    forcePathStyle: true,
    ...(credentials !== undefined && { credentials }),
  });
  const none: Traffic = { requests: 0, rounds: 0, sent: 0, received: 0 };
  let [counted, answered] = [none, 0];
  const send = client.send.bind(client) as (...given: unknown[]) => Promise<{ ContentLength?: number }>;
  Object.assign(client, {
    send: async (...given: unknown[]) => {
      const { Body } = (given[0] as { input: { Body?: Uint8Array | string } }).input;
      const sent = Body === undefined ? 0 : Buffer.byteLength(Body);
      const round = answered + 1;
      const rounds = Math.max(counted.rounds, round);
      counted = { ...counted, requests: counted.requests + 1, rounds, sent: counted.sent + sent };
      const answer = await send(...given);
      answered = Math.max(answered, round);
      counted = { ...counted, received: counted.received + (answer.ContentLength ?? 0) };
      return answer;
    },
  });
  return { client, traffic: () => counted, reset: () => ([counted, answered] = [none, 0]) };
}

const mean = (all: readonly Traffic[]): Traffic => {
  const of = (read: (one: Traffic) => number): number => all.reduce((sum, one) => sum + read(one), 0) / all.length;
  return {
    requests: of(({ requests }) => requests),
    rounds: of(({ rounds }) => rounds),
    sent: of(({ sent }) => sent),
    received: of(({ received }) => received),
  };
};

function judge(lengths: readonly AtLength[]): readonly Verdict[] {
  const upTo1500 = lengths.filter(({ length }) => length <= 1500).map(({ coldLoad: { requests } }) => requests);
  const rounds = Math.max(...lengths.map(({ coldLoad }) => coldLoad.rounds));
  const gets = Math.max(...upTo1500);
  return [
    verdict("a cold load of up to 1,500 saves in at most 6 GETs", 6, gets, String(gets)),
    verdict("a cold load of any length in at most 3 rounds", 3, rounds, String(rounds)),
  ];
}

function limitsOf([gets, rounds]: readonly Verdict[]): readonly LimitRow[] {
  if (gets === undefined || rounds === undefined) throw new Error("nothing was measured");
  const how = `S3's protocol, messages of 1 KB, ${LENGTHS.map((length) => length.toLocaleString("en")).join(", ")} saves`;
  return [
    limit("GETs of a cold load over object storage, up to 1,500 saves", gets.shown, gets.met, how),
    limit(
      "rounds of a cold load over object storage, any length",
      rounds.shown,
      rounds.met,
      `${how}; a body above 16 KB is an object of its own, read 48 at once`,
    ),
  ];
}

const tableOf = (lengths: readonly AtLength[]): string =>
  renderTable(
    ["holdfast s3", "requests a save", "rounds", "sent", "save", "GETs a cold load", "rounds", "received", "load"],
    lengths.map(({ length, save, saveMs, coldLoad: load, coldLoadMs }) => [
      `${length} saves`,
      save.requests.toFixed(1),
      save.rounds.toFixed(1),
      kilobytes(save.sent),
      milliseconds(saveMs),
      String(load.requests),
      String(load.rounds),
      kilobytes(load.received),
      milliseconds(coldLoadMs),
    ]),
  );
