import type { Model, ModelRequest } from "../../models/model.ts";
import type { RunContext } from "../run/run-context.ts";
import { modelTool, type Tool } from "../tool-call/tool.ts";
import { READ_RESULT } from "../tool-call/tool-result.ts";
import { requestSettings } from "./model-settings.ts";
import { preparedStep } from "./prepare-step.ts";
import { withoutRefusedFiles } from "./refused-files.ts";
import { repairHistory } from "./repair-history.ts";

/** One model call, as it is about to be made. */
export interface ModelQuestion {
  readonly model: Model;
  readonly request: ModelRequest;
  /** Tools of the agent's that the model is not offered this time. */
  readonly withheld: ReadonlySet<string>;
}

export async function buildRequest(context: RunContext): Promise<ModelQuestion> {
  const { parts, session, prompt, modelSignal: signal, emit } = context;
  const usual = offeredTools(context);
  const shown = await prompt.messages(context, usual.map(modelTool));
  const changes = await preparedStep(
    context,
    shown,
    usual.map(({ name }) => name),
  );
  const { model = parts.model, tools: names } = changes;
  const offered = names === undefined ? usual : usual.filter(({ name }) => names.includes(name));
  const tools = offered.map(modelTool);
  const output =
    parts.output === undefined ? {} : { responseSchema: { name: "answer", schema: parts.output.jsonSchema } };
  const wanted = changes.messages === undefined ? shown : repairHistory(changes.messages);
  const messages = withoutRefusedFiles(wanted, session.state, model.id);
  const settings = requestSettings([parts.settings, changes], tools.length > 0 || model.runsTools === true);
  const withheld = new Set(usual.filter((tool) => !offered.includes(tool)).map(({ name }) => name));
  return { model, request: { messages, tools, ...output, ...settings, signal, report: emit }, withheld };
}

/** The reader of large results is offered once there is something to read. */
function offeredTools({ parts, session }: RunContext): readonly Tool[] {
  const hasArtifacts = Object.keys(session.state.artifacts).length > 0;
  return [...parts.tools.values()].filter((tool) => hasArtifacts || tool.name !== READ_RESULT);
}
