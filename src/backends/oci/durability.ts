import type { Durability } from "../../driver/durability.ts";

/**
 * Object Storage answers a PUT when the object is on several servers: in several
 * availability domains where a region has them, else in several fault domains.
 */
export const DURABILITY: Durability = "replicated";
