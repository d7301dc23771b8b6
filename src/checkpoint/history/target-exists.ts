import { StateError } from "../../errors.ts";
import type { CheckpointContext } from "../context.ts";

export const targetExists = (context: CheckpointContext, target: string): StateError =>
  new StateError(
    "CONFLICT",
    `${context.log.name}: thread ${JSON.stringify(target)} exists already. Choose another id or delete it first; nothing was written`,
    { backend: context.log.name, threadId: target, expected: null, written: "no" },
  );
