import type { ChannelVersions } from "@langchain/langgraph-checkpoint";
import type { Reconcile } from "../../saver/thread/operations.ts";
import { partKey, partPath } from "../../saver/values/parts.ts";

export const valueKey = (channel: string): string => partKey(["channel_values", channel]);
export const versionKey = (channel: string): string => partKey(["channel_versions", channel]);

/**
 * Which channel values a checkpoint has. LangGraph hands over all values and says
 * which channels are new. The others are taken as they are, too: one that was
 * changed in place is kept as it is now, and one that did not change costs
 * nothing. Only where nothing vouches for a value, neither `newVersions` nor a
 * parent nor any checkpoint that has this version of the channel, is it left out.
 */
export const channelRules =
  (newVersions: ChannelVersions): Reconcile =>
  (given, { hasParent, parentText, parentPart, isKnown }) => {
    const parts = new Map(given);
    for (const [key, version] of given) {
      const [member, channel] = partPath(key);
      if (member !== "channel_versions" || channel === undefined || Object.hasOwn(newVersions, channel)) continue;
      const at = valueKey(channel);
      const isParents = parentText(key) === version;
      const isInherited = isParents && parentText(at) !== undefined;
      const inherited = isInherited && !parts.has(at) ? parentPart(at) : undefined;
      if (inherited !== undefined) parts.set(at, inherited);
      else if (isParents && !isInherited) parts.delete(at);
      else if (!hasParent && typeof version === "string" && !isKnown(key, version, at)) parts.delete(at);
    }
    for (const key of given.keys()) {
      const [member, channel = ""] = partPath(key);
      const isUnversioned = member === "channel_values" && !given.has(versionKey(channel));
      if (isUnversioned && !Object.hasOwn(newVersions, channel)) parts.delete(key);
    }
    return parts;
  };
