import { StateError } from "../../../src/errors.ts";
import type {
  GetRequest,
  ListedCheckpoint,
  ListRequest,
  PutRequest,
  PutWritesRequest,
  SavedCheckpoint,
} from "../../../src/saver/saver.ts";
import type { SaverFault } from "./fault.ts";
import { type KeptCheckpoint, ReferenceSaver } from "./reference-saver.ts";

/** The first twelve passed LangGraph's own validation suite, or nearly: ten of them without a failure. */
export const saverFaults: readonly SaverFault[] = [
  {
    fault: "lets a later write of a task replace the first",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        protected override replaces(): boolean {
          return true;
        }
      })(...given),
    caughtBy: [
      "the first write of a task at a position wins, so that a retry changes nothing",
      "a special channel beside an ordinary one replaces nothing",
    ],
  },
  {
    fault: "keeps a retried write a second time",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        #calls = 0;
        override async putWrites(request: PutWritesRequest): Promise<void> {
          await super.putWrites(request);
          const { threadId, checkpointNs = "", checkpointId } = request;
          const { writes } = this.kept(threadId, checkpointNs, checkpointId);
          const again = this.#calls++ > 0 ? [...writes].at(-1) : undefined;
          if (again !== undefined) writes.set(`${again[0]} again ${this.#calls}`, again[1]);
        }
      })(...given),
    caughtBy: ["the first write of a task at a position wins, so that a retry changes nothing"],
  },
  {
    fault: "leaves the writes of a deleted thread behind",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        override async deleteThread(threadId: string): Promise<boolean> {
          const thread = this.threads.get(threadId);
          const isThere = await super.deleteThread(threadId);
          for (const [ns, namespace] of thread ?? []) {
            for (const [id, { writes }] of namespace) {
              for (const [key, write] of writes) this.kept(threadId, ns, id).writes.set(key, write);
            }
          }
          return isThere;
        }
      })(...given),
    caughtBy: ["a deleted thread is gone with its checkpoints, namespaces and writes, and others stay"],
  },
  {
    fault: "deletes the root namespace of a thread and no other",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        override async deleteThread(threadId: string): Promise<boolean> {
          return (this.threads.get(threadId)?.delete("") ?? false) || super.deleteThread(threadId);
        }
      })(...given),
    caughtBy: ["a deleted thread is gone with its checkpoints, namespaces and writes, and others stay"],
  },
  {
    fault: "fails to delete a thread that is not there",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        override async deleteThread(threadId: string): Promise<boolean> {
          if (await super.deleteThread(threadId)) return true;
          throw new StateError("NOT_FOUND", "no such table: checkpoints");
        }
      })(...given),
    caughtBy: ["deleting a thread that is not there is no error"],
  },
  {
    fault: "filters by the keys it knows and ignores the caller's own",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        protected override passes(metadata: Record<string, unknown>, filter: Record<string, unknown>): boolean {
          const { source, step } = filter;
          const known = { ...(source !== undefined && { source }), ...(step !== undefined && { step }) };
          return super.passes(metadata, known);
        }
      })(...given),
    caughtBy: [
      "a filter wants every one of its values, of the caller's own keys too, and compares strictly",
      "hostile filter keys are names and match nothing but themselves",
    ],
  },
  {
    fault: "ignores the second put of an id",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        override async put(request: PutRequest): Promise<void> {
          if ((await this.get({ ...at(request), checkpointId: request.checkpointId })) === undefined) {
            await super.put(request);
          }
        }
      })(...given),
    caughtBy: ["putting an id again replaces data, metadata and parent"],
  },
  {
    fault: "drops the caller's own metadata",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        override put(request: PutRequest): Promise<void> {
          const { source, step } = request.metadata ?? {};
          const metadata = { ...(source !== undefined && { source }), ...(step !== undefined && { step }) };
          return super.put({ ...request, metadata });
        }
      })(...given),
    caughtBy: [
      "what was put is what get returns, with its metadata and without a parent",
      "the checkpoints of a run can be deleted, and the others stay whole",
    ],
  },
  {
    fault: "takes a limit of 0 for no limit",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        override listCheckpoints(request?: ListRequest): Promise<readonly ListedCheckpoint[]> {
          if (request?.limit !== 0) return super.listCheckpoints(request);
          const { limit: _, ...rest } = request;
          return super.listCheckpoints(rest);
        }
      })(...given),
    caughtBy: ["limit takes the newest, and 0 takes none"],
  },
  {
    fault: "keeps values as plain JSON",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        protected override encoded(value: unknown, name: string): string {
          super.encoded(value, name);
          return JSON.stringify(value, (_, part) => (typeof part === "bigint" ? String(part) : part)) ?? "null";
        }
      })(...given),
    caughtBy: [
      "what was put is what get returns, with its metadata and without a parent",
      "every value of the corpus is kept exactly, in data, in a list, in metadata and in a write",
    ],
  },
  {
    fault: "lists the smallest id first",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        protected override matching(threadId: string, request: ListRequest): KeptCheckpoint[] {
          return super.matching(threadId, request).toReversed();
        }
      })(...given),
    caughtBy: [
      "the greatest id comes first, whatever the order of the puts",
      "limit takes the newest, and 0 takes none",
    ],
  },
  {
    fault: "lists checkpoints without their writes",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        override async listCheckpoints(request?: ListRequest): Promise<readonly ListedCheckpoint[]> {
          const listed = await super.listCheckpoints(request);
          return listed.map((each) => ({ ...each, load: async () => withoutWrites(await each.load()) }));
        }
      })(...given),
    caughtBy: ["what is listed knows its parent and metadata, and loads its data and writes"],
  },
  {
    fault: "takes the one that was put last for the newest",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        readonly #last = new Map<string, string>();
        override async put(request: PutRequest): Promise<void> {
          await super.put(request);
          this.#last.set(JSON.stringify(at(request)), request.checkpointId);
        }
        override get(request: GetRequest): Promise<SavedCheckpoint | undefined> {
          const checkpointId = request?.checkpointId ?? this.#last.get(JSON.stringify(at(request)));
          return super.get(checkpointId === undefined ? request : { ...request, checkpointId });
        }
      })(...given),
    caughtBy: ["the newest is the one with the greatest id, whenever it was put"],
  },
  {
    fault: "drops writes that come before their checkpoint",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        override async putWrites(request: PutWritesRequest): Promise<void> {
          const { threadId, checkpointNs = "", checkpointId } = request;
          const isThere = this.threads.get(threadId)?.get(checkpointNs)?.get(checkpointId)?.info !== undefined;
          if (isThere || request.writes?.length === 0) await super.putWrites(request);
        }
      })(...given),
    caughtBy: [
      "writes may come before their checkpoint, and are no checkpoint by themselves",
      "writes may come before the checkpoint of a thread that has others",
    ],
  },
  {
    fault: "keeps one value for each version of a channel, whichever branch wrote it",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        readonly #blobs = new Map<string, unknown>();
        override put(request: PutRequest): Promise<void> {
          const { values, versions } = (request.checkpointData ?? {}) as Record<string, Record<string, unknown>>;
          if (values === undefined || versions === undefined) return super.put(request);
          const kept = Object.entries(values).map(([channel, value]) => {
            const key = JSON.stringify([request.threadId, channel, versions[channel]]);
            if (!this.#blobs.has(key)) this.#blobs.set(key, value);
            return [channel, this.#blobs.get(key)];
          });
          const checkpointData = { ...request.checkpointData, values: Object.fromEntries(kept) };
          return super.put({ ...request, checkpointData });
        }
      })(...given),
    caughtBy: ["two children of one parent keep apart what they added, and leave it as it was"],
  },
  {
    fault: "recognises what it stored before by identity",
    saver: (...given) =>
      new (class extends ReferenceSaver {
        readonly #texts = new WeakMap<object, string>();
        protected override encoded(value: unknown, name: string): string {
          const list = (value as { values?: { list?: unknown } } | undefined)?.values?.list;
          if (typeof list !== "object" || list === null) return super.encoded(value, name);
          const text = this.#texts.get(list) ?? super.encoded(value, name);
          this.#texts.set(list, text);
          return text;
        }
      })(...given),
    caughtBy: ["an element that was changed in place between two puts is stored as it is"],
  },
];

const at = ({ threadId, checkpointNs = "" }: GetRequest): GetRequest => ({ threadId, checkpointNs });

const withoutWrites = (found: SavedCheckpoint | undefined): SavedCheckpoint | undefined =>
  found && { ...found, pendingWrites: [] };
