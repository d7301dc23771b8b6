import type { KnownPlace } from "../../checkpoint/log/thread-log.ts";
import { entityTag, placeFromTag } from "../../wire/names.ts";
import { type Answer, problemAnswer } from "./answers.ts";
import type { ReadHeaders } from "./calls.ts";
import { Refusal } from "./refusal.ts";

/** An entity tag as a header names it, with its quotes. */
interface Tag {
  readonly isWeak: boolean;
  readonly text: string;
}

/** What If-Match and If-None-Match ask for: `"*"` for any, or a list of tags (RFC 9110, 13.1). */
export interface Preconditions {
  readonly ifMatch: "*" | readonly Tag[] | undefined;
  readonly ifNoneMatch: "*" | readonly Tag[] | undefined;
}

export const preconditionsIn = (headers: ReadHeaders): Preconditions => ({
  ifMatch: tagsIn(headers, "If-Match"),
  ifNoneMatch: tagsIn(headers, "If-None-Match"),
});

/** One element of a list: perhaps nothing, or a tag that may be weak and may hold commas. */
const ELEMENT = /[ \t]*(?:(W\/)?("[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y;

function tagsIn(headers: ReadHeaders, name: string): "*" | readonly Tag[] | undefined {
  const value = headers.get(name);
  if (value === null) return undefined;
  if (value.trim() === "*") return "*";
  const tags: Tag[] = [];
  ELEMENT.lastIndex = 0;
  while (ELEMENT.lastIndex < value.length) {
    const found = ELEMENT.exec(value);
    if (found === null) throw new Refusal("INVALID_ARGUMENT", `${name} must be * or a list of entity tags in quotes`);
    const [, weak, text] = found;
    if (text !== undefined) tags.push({ isWeak: weak !== undefined, text: spelt(text) });
  }
  if (tags.length === 0) throw new Refusal("INVALID_ARGUMENT", `${name} names no entity tag`);
  return tags;
}

/** A tag of ours in our own spelling: escapes may be written in several ways, and mean the same place. */
function spelt(text: string): string {
  const place = placeFromTag(text);
  return place === undefined ? text : entityTag(place);
}

/** Whether both hold for what has this tag; `undefined` for what is not there. */
export function hold({ ifMatch, ifNoneMatch }: Preconditions, tag: string | undefined): boolean {
  if (ifMatch !== undefined && !names(ifMatch, tag, "strongly")) return false;
  return ifNoneMatch === undefined || !names(ifNoneMatch, tag, "weakly");
}

/** If-Match compares strongly, If-None-Match weakly. */
function names(asked: "*" | readonly Tag[], tag: string | undefined, how: "strongly" | "weakly"): boolean {
  if (tag === undefined) return false;
  if (asked === "*") return true;
  return asked.some(({ isWeak, text }) => text === tag && (how === "weakly" || !isWeak));
}

/** The one place that a request means, where its preconditions come to that and nothing has to be looked up. */
export function onePlace({ ifMatch, ifNoneMatch }: Preconditions): KnownPlace | undefined {
  if (ifNoneMatch !== undefined || ifMatch === undefined || ifMatch === "*") return undefined;
  const [first, second] = ifMatch;
  return first === undefined || second !== undefined || first.isWeak ? undefined : placeFromTag(first.text);
}

/** Before the body is read: an append must say where it goes. */
export function assertAppendCondition({ ifMatch, ifNoneMatch }: Preconditions): void {
  if (ifMatch !== undefined && ifNoneMatch === "*") {
    throw new Refusal(
      "INVALID_ARGUMENT",
      "If-Match wants the thread to be there, and If-None-Match: * wants it not to be",
    );
  }
  if (ifMatch !== undefined || ifNoneMatch === "*") return;
  const message =
    'an append needs If-Match: "<generation>:<position>:<write id>" of the tail, or If-None-Match: * to make the thread';
  throw new Refusal("INVALID_ARGUMENT", message, { status: 428 });
}

/** The headers are what everything in between reads: they must allow the place that the body names, and no thread where that is 0. */
export function assertSamePlace(asked: Preconditions, place: KnownPlace): void {
  if (hold(asked, place.seq === 0 ? undefined : entityTag(place))) return;
  throw new Refusal("INVALID_ARGUMENT", "the body expects another place than the precondition");
}

/** The answer to a read as its preconditions want it: 304 for what the client has, 412 for what it does not mean. */
export function conditional(answer: Answer, asked: Preconditions): Answer {
  const tag = answer.headers?.["etag"];
  if (hold(asked, tag)) return answer;
  if (hold({ ...asked, ifNoneMatch: undefined }, tag) && tag !== undefined) {
    return { status: 304, type: undefined, body: undefined, headers: { etag: tag } };
  }
  return problemAnswer("CONFLICT", { status: 412, detail: "the thread is not at a place that If-Match names" });
}
