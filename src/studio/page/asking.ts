import { signal } from "@preact/signals";
import type { Answers } from "../answer-types.ts";
import { ROUTES, type RouteName } from "../routes.ts";
import type { Problem } from "../service-api.ts";

/** The state of the connection to the store: fine, or what is wrong with it. */
export type Link = "fine" | "no-token" | "no-process" | "no-store";
export const link = signal<Link>("fine");
/** Why the store does not answer, in its own words. */
export const linkTrouble = signal("");

const TOKEN_KEY = "holdfast-studio-token";

/** The token comes in the fragment, which no browser sends anywhere, and leaves the address at once. */
export function takeToken(): void {
  const [, token] = /^#k=([\w-]+)$/.exec(location.hash) ?? [];
  if (token !== undefined) {
    sessionStorage.setItem(TOKEN_KEY, token);
    history.replaceState(null, "", "#/threads");
  }
  if (sessionStorage.getItem(TOKEN_KEY) === null) link.value = "no-token";
}

/** A failure as the server told it. */
export class Failure extends Error {
  readonly code: string;

  constructor({ code, title, detail }: Problem) {
    super(detail ?? title);
    this.code = code;
  }
}

export type Query = Readonly<Record<string, string | number | undefined>>;

/** Ids never stand in a path as they are. */
export function segmentOf(id: string): string {
  const bytes = new TextEncoder().encode(id);
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

function addressOf(name: RouteName, thread: string | undefined, query: Query): string {
  const path = ROUTES[name].path.replace("{thread}", thread === undefined ? "" : segmentOf(thread));
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query))
    if (value !== undefined && value !== "") search.set(key, String(value));
  const text = search.toString();
  return `/api/${path}${text === "" ? "" : `?${text}`}`;
}

export interface Asked {
  readonly thread?: string;
  readonly query?: Query;
  readonly body?: object;
  readonly signal?: AbortSignal;
}

const LOST = ["UNAVAILABLE", "TIMEOUT", "CLOSED"];

async function request(name: RouteName, { thread, query = {}, body, signal: until }: Asked): Promise<Response> {
  const { method } = ROUTES[name];
  const headers: Record<string, string> = { authorization: `Bearer ${sessionStorage.getItem(TOKEN_KEY) ?? ""}` };
  if (method === "POST") headers["content-type"] = "application/json";
  let response: Response;
  try {
    response = await fetch(addressOf(name, thread, query), {
      method,
      headers,
      ...(method === "POST" && { body: JSON.stringify(body ?? {}) }),
      ...(until !== undefined && { signal: until }),
    });
  } catch (error) {
    if (until?.aborted !== true) link.value = "no-process";
    throw error;
  }
  if (response.ok) {
    link.value = "fine";
    return response;
  }
  const problem = (await response.json().catch(() => ({ code: "UNKNOWN", title: response.statusText }))) as Problem;
  if (response.status === 401) link.value = "no-token";
  else if (LOST.includes(problem.code)) {
    linkTrouble.value = problem.detail ?? problem.title;
    link.value = "no-store";
  } else link.value = "fine";
  throw new Failure(problem);
}

export async function ask<Name extends RouteName>(name: Name, asked: Asked = {}): Promise<Answers[Name]> {
  return (await (await request(name, asked)).json()) as Answers[Name];
}

/** Lines of JSON, as they come; an EventSource could not send the token. */
export async function* follow<Name extends RouteName>(name: Name, asked: Asked): AsyncGenerator<Answers[Name]> {
  const { body } = await request(name, asked);
  if (body === null) return;
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as Answers[Name];
  }
}
