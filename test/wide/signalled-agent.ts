/** Runs an agent whose tool never ends, beside a package that listens to signals; says "begun" when the tool is at work. */
import { onExit } from "signal-exit";
import { Agent, tool } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";

onExit(() => undefined);
const work = tool({
  name: "work",
  execute: () => {
    console.log("begun");
    return new Promise(() => setInterval(() => undefined, 60_000));
  },
});
const model = scriptedModel([{ toolCalls: [{ name: "work" }] }]);
await new Agent({ model, tools: [work], checkpointer: `sqlite:${process.argv[2]}` }).run("go", { threadId: "t" });
