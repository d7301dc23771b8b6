import type { StateDelta } from "../../state/delta.ts";

/** What the body of a checkpoint says. */
export interface BodyContent {
  readonly base?: Readonly<Record<string, unknown>>;
  readonly delta?: StateDelta;
}

/** It goes with the body. */
const handedOver = new WeakMap<Uint8Array, BodyContent>();

/** For a log that looks into the bodies it is given: it need not decode what was encoded just before. */
export function handOverContent(body: Uint8Array, content: BodyContent): void {
  handedOver.set(body, content);
}

export const contentHandedOver = (body: Uint8Array): BodyContent | undefined => handedOver.get(body);
