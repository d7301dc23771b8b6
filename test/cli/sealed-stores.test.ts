import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { sqliteCheckpointer } from "../../src/backends/sqlite/index.ts";
import { sqliteStore } from "../../src/backends/sqlite/store.ts";
import { Sealing } from "../../src/sealing/sealing.ts";
import { AgentState } from "../../src/state/agent-state.ts";
import { userMessage } from "../../src/state/message.ts";
import { sampleKeyring } from "../sealing/sample-keyring.ts";
import { holdfast } from "./fake-world.ts";

const folder = await mkdtemp(join(tmpdir(), "holdfast-sealed-cli-"));
afterAll(() => rm(folder, { recursive: true }));

test("the command line says of sealed threads and items that they are sealed, calls nothing damaged, and shows nothing of them", async () => {
  const path = join(folder, "a.db");
  const sealing = new Sealing({ keyring: (await sampleKeyring()).keyring });
  const [checkpointer, store] = [sqliteCheckpointer({ path, sealing }), sqliteStore({ path, sealing })];
  await checkpointer.save(AgentState.create().withMessage(userMessage("zebra")), "t");
  await store.put(["facts"], "a", { text: "zebra" });
  await Promise.all([checkpointer.close(), store.close()]);
  const url = `sqlite:${path}`;
  const ends: Readonly<Record<string, number>> = {
    [`threads ${url}`]: 0,
    [`show ${url} t`]: 9,
    [`verify ${url}`]: 3,
    [`copy ${url} sqlite:${join(folder, "b.db")}`]: 3,
    [`store get ${url} facts a`]: 9,
    [`store items ${url} facts`]: 0,
    [`store search ${url} facts zebra`]: 0,
  };
  for (const [command, end] of Object.entries(ends)) {
    const { code, stdout, stderr } = await holdfast(command.split(" "));
    const said = stdout + stderr;
    expect([code, said], command).toEqual([end, expect.stringContaining("option `sealing`")]);
    expect(said.replaceAll(/it is not damaged|no damage/g, ""), command).not.toMatch(/damage|undefined|zebra/);
  }
});
