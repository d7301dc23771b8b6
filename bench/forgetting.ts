/**
 * `npx tsx bench/forgetting.ts [threads]`: what it costs a process to erase one
 * person for the first time, among very many threads of other people in SQLite.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemoryStore } from "../src/backends/memory/index.ts";
import { sqliteCheckpointer } from "../src/backends/sqlite/index.ts";
import { AgentState } from "../src/state/agent-state.ts";
import { assistantMessage, userMessage } from "../src/state/message.ts";
import { PersonalData } from "../src/wiring/personal-data.ts";

const threads = Number(process.argv[2] ?? 100_000);
const folder = process.env["FORGETTING"] ?? mkdtempSync(join(tmpdir(), "holdfast-bench-forgetting-"));
const path = join(folder, "a.db");
const saving = sqliteCheckpointer({ path });
if ((await saving.listThreads({ limit: 1 })).length === 0) {
  for (let first = 0; first < threads; first += 100) {
    await Promise.all(
      Array.from({ length: 100 }, (_, at) => {
        const subject = `person-${first + at}`;
        const state = AgentState.create({ metadata: { subject } })
          .withMessage(userMessage(`hello, I am ${subject}, and this is what I ask about`))
          .withMessage(assistantMessage("and this is what I have to say about it"));
        return saving.save(state, `thread-${first + at}`);
      }),
    );
  }
}
await saving.close();

const checkpointer = sqliteCheckpointer({ path });
const data = new PersonalData({
  checkpointers: [checkpointer],
  ledger: new InMemoryStore(),
  key: Buffer.alloc(32, 7).toString("base64"),
});
for (const person of ["person-17", "person-18"]) {
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  const receipt = await data.eraseUser(person);
  const { user, system } = process.cpuUsage(cpu);
  const seconds = ((user + system) / 1e6).toFixed(1);
  const wall = ((performance.now() - began) / 1e3).toFixed(1);
  console.log(`${person}: ${seconds} s of processor time, ${wall} s; verified ${receipt.verified}`);
}
await checkpointer.close();
if (process.env["FORGETTING"] === undefined) rmSync(folder, { recursive: true });
