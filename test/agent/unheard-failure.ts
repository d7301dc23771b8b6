/** A program that starts a run which fails, and looks at neither its events nor its result. */
import { scriptedModel } from "../../src/testing/models/scripted-model.ts";
import { agentOf } from "./agent-of.ts";

agentOf({ model: scriptedModel([new Error("unhandled failure")]) }).run("hello");
