import { createHash } from "node:crypto";
import { namesOf } from "../checkpoint/log/driver-rules.ts";
import type { LogEntry } from "../checkpoint/log/thread-log.ts";
import { openHeader, type RecordHeader } from "../checkpoint/record/record.ts";
import { MAX_ID_BYTES } from "../driver/ids.ts";
import { StateError } from "../errors.ts";

/**
 * The names of a graph's records. A checkpoint of the root graph has its own id,
 * so that a listing of the thread shows familiar ids:
 *
 *   1ef4f797-…                  checkpoint of the root graph
 *   /agent:5f0a…/1ef4f797-…     checkpoint of the namespace "agent:5f0a…"
 *   //agent:5f0a…               the newest checkpoint of that namespace; "//" for the root
 *   ///3q2-7w…                  either, where it would be too long: its digest, and the whole in the header
 */
export interface CheckpointPlace {
  readonly ns: string;
  readonly id: string;
}

const escaped = (part: string): string => part.replace(/[%/]/g, (found) => (found === "%" ? "%25" : "%2F"));
const unescaped = (part: string): string =>
  part.includes("%") ? part.replace(/%25|%2F/g, (found) => (found === "%25" ? "%" : "/")) : part;

const fitting = (name: string): string =>
  Buffer.byteLength(name) <= MAX_ID_BYTES ? name : `///${createHash("sha256").update(name).digest("base64url")}`;

export const checkpointName = (ns: string, id: string): string =>
  fitting(ns === "" ? escaped(id) : `/${escaped(ns)}/${escaped(id)}`);

export const newestName = (ns: string): string => fitting(`//${escaped(ns)}`);

/** What the header must say beside the name. */
export const longPlace = (name: string, { ns, id }: CheckpointPlace): { ns?: string; id?: string } =>
  name.startsWith("///") ? { ns, id } : {};

/** Which checkpoint a record is about, or `undefined` if it is about no checkpoint. */
export function placeOf(entry: LogEntry, header: RecordHeader = openHeader(entry)): CheckpointPlace | undefined {
  const [name] = namesOf(entry);
  if (header.graph === undefined || name === undefined) return undefined;
  const { ns = "", id } = header.graph;
  if (id !== undefined) return { ns, id };
  if (!name.startsWith("/")) return { ns: "", id: unescaped(name) };
  const [, inNs, inId, ...rest] = name.split("/");
  if (!inNs || inId === undefined || rest.length > 0) {
    throw new StateError("CORRUPT", `record ${entry.seq} of a graph has the unknown name ${JSON.stringify(name)}`, {
      location: `record ${entry.seq}`,
    });
  }
  return { ns: unescaped(inNs), id: unescaped(inId) };
}

/** Whether this record made its checkpoint the newest of its namespace, or left it so. */
export const isNewest = (entry: LogEntry, ns: string): boolean => entry.names?.includes(newestName(ns)) === true;
