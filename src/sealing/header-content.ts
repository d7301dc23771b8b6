import { NO_PEOPLE, type ThreadPeople } from "./thread-people.ts";

/**
 * What is in the box of a header, as text: the lengths of the generation and of the
 * header, both of them, and the rest as JSON if there is any. Most records have
 * nothing else, and a header is JSON already: it is not quoted once more.
 */

/** Short names, because every record pays for them. */
export interface HeaderContent {
  /** The generation of the thread. */
  readonly g: string;
  /** The header; without its checksum, where there are parts. */
  readonly h: string;
  /** The metadata, or what stands in their place. */
  readonly m?: string | undefined;
  /** Of people: which keys are needed for what. */
  readonly p?: readonly HeaderPart[] | undefined;
  readonly d?: ThreadPeople["defaults"];
  readonly n?: ThreadPeople["named"];
  readonly c?: ThreadPeople["calls"];
  /** 1 where no index may hold what follows in the thread. */
  readonly u?: 1;
  /** The lowest position that may hold a record. */
  readonly f?: number;
}

/**
 * The keys, and a box: `"s"` of the checksum of the header, `"h"` of all of a header
 * that has no such end, `"m"` of parts of the metadata. Or how many bytes a box behind
 * the body has: `"w"` the one of the whole body, `"b"` that of parts of it.
 */
export type HeaderPart = readonly ["s" | "h" | "m", readonly string[], string] | BodyPart;

export type BodyPart = readonly ["b" | "w", readonly string[], number];

export const isBodyPart = (part: HeaderPart): part is BodyPart => part[0] === "b" || part[0] === "w";

export function headerText({ g, h, m, p }: HeaderContent, people: ThreadPeople): string {
  const text = `${g.length} ${h.length} ${g}${h}`;
  const { defaults, named, calls, isUnlisted, floor } = people;
  const areNamed = people !== NO_PEOPLE && defaults.length + named.length + Object.keys(calls).length > 0;
  if (m === undefined && p === undefined && !areNamed && !isUnlisted && floor === undefined) return text;
  const whose = areNamed && { d: defaults, n: named, c: calls };
  return text + JSON.stringify({ m, p, ...whose, ...(isUnlisted && { u: 1 }), f: floor });
}

/** Who the thread is about, as of that header. */
export function peopleIn({ d, n, c, u, f }: HeaderContent): ThreadPeople {
  if ([d, n, c, u, f].every((each) => each === undefined)) return NO_PEOPLE;
  return {
    defaults: d ?? [],
    named: n ?? [],
    calls: c ?? {},
    ...(u === 1 && { isUnlisted: true }),
    ...(f !== undefined && { floor: f }),
  };
}

/** The content of a text that was proven to be ours. */
export function headerContent(text: string): HeaderContent {
  const [first, second] = [text.indexOf(" "), text.indexOf(" ", text.indexOf(" ") + 1)];
  const generationEnd = second + 1 + Number(text.slice(0, first));
  const headerEnd = generationEnd + Number(text.slice(first + 1, second));
  const rest = headerEnd === text.length ? {} : (JSON.parse(text.slice(headerEnd)) as Partial<HeaderContent>);
  return { ...rest, g: text.slice(second + 1, generationEnd), h: text.slice(generationEnd, headerEnd) };
}
