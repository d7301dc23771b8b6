/** Threads of this kind are invisible to the layers above. */
export const STAGING_PREFIX = "holdfast:sealing/";

export const isStaging = (threadId: string): boolean => threadId.startsWith(STAGING_PREFIX);
