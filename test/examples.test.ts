import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listExamples, runExample } from "../scripts/run-examples.ts";
import { OciStandIn } from "./oci-stand-in/stand-in.ts";
import { describeWithStandIn } from "./oracle-stand-in/with-oracle.ts";
import { s3Url } from "./s3/test-bucket.ts";
import { describeWithService } from "./services/with-service.ts";

/** Stands for the system's temporary folder, so that it can be seen what an example leaves there. */
let temporary: string;
beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), "holdfast-examples-"));
});
afterAll(() => rm(temporary, { recursive: true }));

type Command = readonly [path: string, ...words: string[]];

async function outputOf(command: Command, environment: NodeJS.ProcessEnv = {}): Promise<string> {
  const { code, output } = await runExample(command, { ...process.env, TMPDIR: temporary, ...environment });
  expect(code, output).toBe(0);
  return output;
}

const leftovers = async (): Promise<readonly string[]> =>
  (await readdir(temporary)).filter((name) => name.startsWith("holdfast-"));

/** What each prints when it shows what it is there to show. */
const SHOWN: Readonly<Record<string, readonly (string | RegExp)[]>> = {
  "examples/00-on-call.ts": [
    "HOLDFAST_URL is not set",
    "threads in the store: on-call-example",
    'Agent: You told me: "p99 on checkout-api spiked at 14:02.',
    "the thread has 4 messages",
  ],
  "examples/01-checkpointers.ts": [
    /(You said: I'm planning a trip to Tokyo\.[\s\S]*){4}/,
    "durability: fsync; two writers kept apart: true; ttl: false",
    "durability: memory; two writers kept apart: false; ttl: false",
    'search by index: "tokyo" was said 2 times, best in user-c42',
    /(vacuum: 0 were older than 30 days, 6 others were not the newest[\s\S]*){4}/,
    "TypeError: Agent({ checkpointer }) takes a checkpointer, not a dict-shaped storage",
  ],
  "examples/19-page.ts": [
    'the page sees {"percent":25} and loses its connection',
    "the page reconnects elsewhere: 200",
    "message turn-1",
    "the tool found: p99 was 2.1 s at 14:02",
    "the agent says: Checkout was slow at 14:02.",
    "nothing is under way any longer: 204",
  ],
  "examples/16-memory.ts": [
    'The user lives in Bern. ("I moved to Bern.", before: Zurich)',
    "Which city is my home? → The user lives in Bern.",
    "Who employs me? → The user works for Alpenbank.",
    "Is there food that I must avoid? → The user is allergic to peanuts.",
    "Do I have any siblings? → The user's sister is called Mara.",
    "notes in the thread: 0",
    'Why Bern? Message 14 of "monday" says: I moved to Bern.',
    "Forgotten: 0 memories are left",
  ],
  "examples/02-across-restarts.ts": [
    /process \d+: "Who am I\?" → "Alex" \(4 messages\)/,
    "checkpointEveryNIterations: end → 2 checkpoints",
  ],
  "examples/03-your-own-backend.ts": ["You said: My name is Alice.", /conformance: my backend \d+ cases/],
  "examples/04-cross-thread-store.ts": [
    "threads: fsync, items: fsync",
    /from Alice's items only:\n {2}pet: Has a grey cat called Miso\.\n/,
    /on the metadata:\n {2}o1\n/,
    "30 of 30",
    "The second of two writers: CONFLICT",
    "A code that ended: undefined",
    "Forgotten: 2 memories of alice",
    "Namespaces left: limits, orders, settings, users/bob/memories",
  ],
  "examples/04-three-lifecycles.ts": [
    "User data stored: email=alice@example.com",
    "Working state: current_subtask, tool_call_in_flight, draft_output",
    /Checkpoint created: \w+/,
    "User 'user_xyz' deleted (2 rows). Email now: undefined",
    "Restored working state: 0 keys",
    'Restored checkpoint \'subtask_complete\': {"current_subtask":"generate_report","draft_output":"## Report\\n..."}',
  ],
  "examples/05-human-approval.ts": [
    /Process \d+ ended its run: pending/,
    "one answered, with 90 instead of 900: pending, 1 left",
    "Sent 90 to Ines. A person refused this call. The reason: Bob was paid in cash",
    /a second answer is refused: .* was answered already/,
  ],
  "examples/06-two-writers.ts": [
    /thread "notes" has moved on: expected [\w-]+, found [\w-]+\. Load it again/,
    "22 different messages of 22",
    'it is leased to "worker-1" for now',
    "given back; the other writes again after 1 attempt",
  ],
  "examples/15-langgraph.ts": [
    "waits for: charge 40 EUR?",
    "after the answer: order 7 · planned: charge 40 EUR · a person said: yes · charged",
    "checkpoints: 5",
    "pruned: 4",
    "still there: 4 lines",
  ],
  "examples/07-fork-and-diff.ts": [
    "2 messages shared, 2 added",
    "~ metadata.mood: keen → tired",
    'The fork went another way: Booked by train: "Plan a trip to Paris."',
    "fork: 3 checkpoints, copy: 4 checkpoints",
  ],
  "examples/08-killed-in-the-middle.ts": [
    "was killed by SIGKILL while 4 tools were running",
    /read_metrics +succeeded attempts: 1, effects: 2, keys: 1/,
    /set_flag +succeeded attempts: 2, effects: 2, keys: 1/,
    /send_letter +unknown +attempts: 1, effects: 1, keys: 1/,
    /send_money +succeeded attempts: 1, effects: 1, keys: 1/,
  ],
  "examples/11-http.ts": [
    "durability fsync",
    "You said: My name is Ada.",
    "there is no such thread",
    "4 messages can be read",
    'PERMISSION_DENIED: http: delete failed for thread "chat": the service answered: this needs a token with the scope',
    'PERMISSION_DENIED: http: vacuum failed for thread "chat": the service answered: to take checkpoints out',
  ],
};

/** Those that need a server, and the variable that tells them where it is. */
const SHOWN_WITH_SERVICE = {
  "examples/09-postgres.ts": {
    service: "postgres",
    variable: "HOLDFAST_POSTGRES_URL",
    shown: [
      /durability, from the server's own settings: (fsync|replicated|os)/,
      "the other machine sees it: 2 messages",
      "is refused: CONFLICT",
      "search by index: incident-7",
      "threads of acme: incident-7",
      "the newest message: It was the 13:58 deploy.",
      "and in SQL: severity 2, expires in 30 days",
    ],
  },
  "examples/10-redis.ts": {
    service: "redis",
    variable: "HOLDFAST_REDIS_URL",
    shown: [
      /durability, as the server is set: (fsync|os|memory)/,
      "another program knows: Alex",
      "the second of two writers: CONFLICT",
      /one key a thread: hash with \d+ fields/,
      "gone in 60 minutes, all of it",
      "deleted: 0 keys left",
    ],
  },
  "examples/13-opensearch.ts": {
    service: "opensearch",
    variable: "HOLDFAST_OPENSEARCH_URL",
    shown: [
      "durability: fsync",
      /best first\.\n {2}bob {2}[\d.]+\n {2}carol {2}[\d.]+\n/,
      /within some threads:\n {2}carol\n/,
      "Premium customers: alice, carol",
      "Bob was told: A refund takes five days.",
      "threads left: 0",
    ],
  },
  "examples/14-s3.ts": {
    service: "s3",
    variable: "HOLDFAST_S3_URL",
    shown: [
      "durability: os",
      "another worker knows: A trip to Tokyo.",
      "the second of two writers: CONFLICT",
      "deleted: 0 threads left",
    ],
  },
} as const;

for (const [path, { service, variable, shown }] of Object.entries(SHOWN_WITH_SERVICE)) {
  await describeWithService(service, (url) => {
    test(`${path} shows what it says`, async () => {
      const opened = service === "s3" ? s3Url(url) : { url, environment: {} };
      const environment = { ...opened.environment, [variable]: opened.url };
      const output = await outputOf([path as keyof typeof SHOWN_WITH_SERVICE], environment);
      for (const part of shown) expect(output).toMatch(part);
    });
  });
}

describe("examples/12-oci.ts", () => {
  test("shows what it says, on the stand-in for Object Storage, and leaves nothing behind", async () => {
    const directory = await mkdtemp(join(temporary, "oci-"));
    const standIn = await OciStandIn.start();
    const { namespace, endpoint } = standIn;
    const query = new URLSearchParams({ namespace, endpoint, configFile: await standIn.writeConfig(directory) });
    const output = await outputOf(["examples/12-oci.ts"], { HOLDFAST_OCI_URL: `oci://threads/example?${query}` });
    for (const part of [
      "durability: replicated",
      "another worker knows: A trip to Tokyo.",
      "the second of two writers: CONFLICT",
      "threads: 4 messages, 4 messages",
      "a rule for the bucket: delete holdfast/threads/ after 90 days",
      "deleted: 0 threads left",
    ]) {
      expect(output).toMatch(part);
    }
    expect(standIn.objects().size).toBe(0);
    await standIn.close();
    await rm(directory, { recursive: true });
  });

  test("says what it needs where that is not given", async () => {
    expect(await outputOf(["examples/12-oci.ts"], { HOLDFAST_OCI_URL: undefined })).toMatch(
      "HOLDFAST_OCI_URL is not set",
    );
  });
});

/** What examples for Oracle Database show, with their client's messages answered by the stand-in. */
const SHOWN_WITH_ORACLE = {
  "examples/17-oracle-durable-agent.ts": {
    wiring: "const checkpointer = oracleCheckpointer({",
    shown: [
      'Agent: You told me: "p99 on checkout-api spiked at 14:02.',
      "the thread has 4 messages",
      "threads in HOLDFAST_EXAMPLE: oracle_example_thread",
    ],
  },
  "examples/18-oracle-savers.ts": {
    wiring: 'const saver = new OracleCheckpointSaver({ connection, tableName: "locus" });',
    shown: [
      `Agent: You said: "I'm planning a trip to Tokyo."`,
      'latest: v1, pending: "pending-write"\n  v2 follows v1\n  v1 follows nothing',
      "fact-2: user dislikes mornings",
    ],
  },
} as const;

await describeWithStandIn(
  ({ dsn, user, password }) => {
    const standIn = new URL("oracle-stand-in/install.ts", import.meta.url).href;
    const environment = { NODE_OPTIONS: `--import tsx --import ${standIn}`, ORACLE_DSN: dsn, ORACLE_USER: user };
    test.for(Object.entries(SHOWN_WITH_ORACLE))("%s shows what it says", async ([path, { shown }]) => {
      const credentials = { ORACLE_PASSWORD: password, ORACLE_WALLET: temporary };
      const output = await outputOf([path], { ...environment, ...credentials });
      for (const part of shown) expect(output).toMatch(part);
    });
  },
  { vectors: true },
);

describe("examples", () => {
  test("each of them is run here", async () => {
    const withServer = [...Object.keys(SHOWN_WITH_SERVICE), ...Object.keys(SHOWN_WITH_ORACLE), "examples/12-oci.ts"];
    const paths = [...Object.keys(SHOWN), ...withServer];
    expect(await listExamples()).toEqual([...paths.sort(), "examples/demo/main.ts"]);
  });

  test.for(Object.entries(SHOWN_WITH_ORACLE))(
    "%s says what is missing, shows the wiring and ends well",
    async ([path, { wiring }]) => {
      const output = await outputOf([path], { ORACLE_DSN: undefined, ORACLE_PASSWORD: undefined });
      expect(output).toMatch(/Not set, so nothing is connected: .*ORACLE_DSN.*ORACLE_PASSWORD/);
      expect(output).toMatch(wiring);
    },
  );

  test.for(Object.entries(SHOWN_WITH_SERVICE))(
    "%s says what it needs where that is not given",
    async ([path, { variable }]) => {
      expect(await outputOf([path], { [variable]: undefined })).toMatch(`${variable} is not set`);
    },
  );

  test.for(Object.entries(SHOWN))("%s shows what it says, and leaves nothing behind", async ([path, shown]) => {
    const output = await outputOf([path]);
    for (const part of shown) expect(output).toMatch(part);
    expect(await leftovers()).toEqual([]);
  });

  test("the on-call example takes its store from a URL, and finds what it said there before", async () => {
    const url = { HOLDFAST_URL: `file:${join(temporary, "threads")}` };
    expect(await outputOf(["examples/00-on-call.ts"], url)).toMatch("the thread has 4 messages");
    expect(await outputOf(["examples/00-on-call.ts"], url)).toMatch("the thread has 8 messages");
  });
});

describe("the demo", () => {
  let output: string;
  let folder: string;
  beforeAll(async () => {
    output = await outputOf(["examples/demo/main.ts"]);
    folder = join(temporary, (await leftovers())[0] ?? "");
  });
  afterAll(() => rm(folder, { recursive: true }));

  test("kills a process while a tool runs; a fresh one finishes the turn, and recalls it", () => {
    expect(output).toMatch(/killed {2}by SIGKILL .* while roll_back_deploy was running/);
    expect(output).toMatch("roll_back_deploy succeeded, without being run again: verify() found it done");
    expect(output).toMatch('agent   You told me: "p99 on checkout-api spiked at 14:02.');
  });

  test("shows that each effect took place once, in the process that was killed", () => {
    const [killed] = processesIn(output);
    expect(output.match(/\(process \d+\)/g)).toEqual([`(process ${killed})`, `(process ${killed})`]);
    expect(output).toMatch(`paged the owner of checkout-api (process ${killed})`);
    expect(output).toMatch(`rolled back the 13:58 deploy of checkout-api (process ${killed})`);
    expect(output).toMatch(/roll_back_deploy +succeeded, 1 attempt\n/);
  });

  test("leaves no process behind", () => {
    const pids = processesIn(output);
    expect(pids).toHaveLength(2);
    for (const pid of pids) expect(() => process.kill(pid, 0), `process ${pid}`).toThrow("ESRCH");
  });

  test("says where the state is, and what it says to try works there", async () => {
    // Saves that come while one is under way share the next, so how many there are is a matter of how quick the disk is.
    expect(output).toMatch(new RegExp(`${join(folder, "agents.db")}: (?:[6-9]|10) checkpoints, 9 messages`));
    const program = "examples/demo/on-call.ts";
    const question = "What did I say about the deploy?";
    expect(output).toMatch(`npx tsx ${program} ask ${folder} "${question}"`);
    expect(await outputOf([program, "ask", folder, question])).toMatch('You said: "p99 on checkout-api spiked');
    expect(output).toMatch(`npx tsx ${program} history ${folder}`);
    expect(await outputOf([program, "history", folder])).toMatch(/ 11 messages /);
  });
});

const processesIn = (output: string): readonly number[] =>
  [...output.matchAll(/^Process (\d+)/gm)].map(([, pid]) => Number(pid));
