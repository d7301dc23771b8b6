import pg from "pg";
import { peerPackage } from "../peer-packages.ts";
import type { WorkloadMessage } from "../workload.ts";
import type { Contender } from "./contender.ts";
import { placeName, serverUrl } from "./server-place.ts";

type Workflow = (name: string) => Promise<number>;

/** The part of DBOS that is used here. */
interface Dbos {
  setConfig(config: object): void;
  launch(): Promise<void>;
  registerWorkflow(workflow: Workflow, options: { name: string }): Workflow;
  startWorkflow(
    workflow: Workflow,
    options: { workflowID: string },
  ): (name: string) => Promise<{ getResult(): Promise<number> }>;
  runStep<T>(step: () => Promise<T>, options: { name: string }): Promise<T>;
  listWorkflowSteps(name: string): Promise<readonly unknown[] | undefined>;
}

const SCHEMA = "dbos_bench";
/** Tells the workflow to end. */
const END = Symbol("end");

/** One for the process, as the library has it. */
let launched: Promise<{ readonly dbos: Dbos; readonly talk: Workflow }> | undefined;
const inboxes = new Map<string, Inbox>();

/**
 * One workflow for each conversation, one step for each message: what DBOS
 * records is the step's output. Loading is listing the recorded steps, as a recovery does.
 */
export const dbosSteps: Contender = {
  name: "DBOS, one step a message",
  durability: "fsync",
  size: stepBytes,
  open: async (directory) => {
    launched ??= launch();
    const { dbos, talk } = await launched;
    const name = placeName(directory);
    const inbox = inboxes.get(name) ?? new Inbox();
    let running: Promise<unknown> | undefined;
    const begin = async (): Promise<unknown> => {
      inboxes.set(name, inbox);
      return (await dbos.startWorkflow(talk, { workflowID: name })(name)).getResult();
    };
    const steps = async (): Promise<number> => (await dbos.listWorkflowSteps(name))?.length ?? 0;
    return {
      append: async (message) => {
        running ??= begin();
        await inbox.send(message);
      },
      load: steps,
      listHistory: steps,
      close: async () => {
        if (running === undefined) return;
        inbox.end();
        await running;
      },
    };
  },
};

async function launch(): Promise<{ readonly dbos: Dbos; readonly talk: Workflow }> {
  const { DBOS: dbos } = await peerPackage<{ DBOS: Dbos }>("@dbos-inc/dbos-sdk");
  const talk = dbos.registerWorkflow(
    async (name: string): Promise<number> => {
      const inbox = inboxes.get(name);
      let count = 0;
      for (let next = await inbox?.next(); next !== undefined && next !== END; next = await inbox?.next()) {
        const message = next as WorkloadMessage;
        await dbos.runStep(async () => message, { name: "message" });
        count++;
        inbox?.kept();
      }
      return count;
    },
    { name: "talk" },
  );
  dbos.setConfig({
    name: "bench",
    systemDatabaseUrl: serverUrl("postgres"),
    systemDatabaseSchemaName: SCHEMA,
    logLevel: "error",
    enableOTLP: false,
    runAdminServer: false,
  });
  await dbos.launch();
  return { dbos, talk };
}

/** Hands one message at a time to the workflow, and waits until its step is recorded. */
class Inbox {
  #arrived: (message: WorkloadMessage | typeof END) => void = () => undefined;
  #next: Promise<WorkloadMessage | typeof END> = this.#expect();
  #kept: () => void = () => undefined;

  send(message: WorkloadMessage): Promise<void> {
    const kept = new Promise<void>((resolve) => {
      this.#kept = resolve;
    });
    this.#arrived(message);
    return kept;
  }

  end(): void {
    this.#arrived(END);
  }

  async next(): Promise<WorkloadMessage | typeof END> {
    const message = await this.#next;
    this.#next = this.#expect();
    return message;
  }

  kept(): void {
    this.#kept();
  }

  #expect(): Promise<WorkloadMessage | typeof END> {
    return new Promise((resolve) => {
      this.#arrived = resolve;
    });
  }
}

/** Its tables serve all conversations together: the share of this one by its number of steps. */
async function stepBytes(directory: string): Promise<number> {
  const client = new pg.Client({ connectionString: serverUrl("postgres") });
  await client.connect();
  try {
    const { rows } = await client.query<{ bytes: string }>(
      `SELECT pg_total_relation_size('${SCHEMA}.operation_outputs')
         * (SELECT count(*) FROM ${SCHEMA}.operation_outputs WHERE workflow_uuid = $1)
         / greatest((SELECT count(*) FROM ${SCHEMA}.operation_outputs), 1) AS bytes`,
      [placeName(directory)],
    );
    return Number(rows[0]?.bytes);
  } finally {
    await client.end();
  }
}
