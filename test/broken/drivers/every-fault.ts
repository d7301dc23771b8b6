import { appendFaults } from "./append-faults.ts";
import { contentFaults } from "./content-faults.ts";
import type { DriverFault } from "./fault.ts";
import { findingFaults } from "./finding-faults.ts";
import { namingFaults } from "./naming-faults.ts";
import { positionFaults } from "./position-faults.ts";
import { readingFaults } from "./reading-faults.ts";
import { threadFaults } from "./thread-faults.ts";
import { togetherFaults } from "./together-faults.ts";

/** Every way in which a driver is broken here. */
export const DRIVER_FAULTS: readonly DriverFault[] = [
  ...appendFaults,
  ...contentFaults,
  ...namingFaults,
  ...positionFaults,
  ...readingFaults,
  ...threadFaults,
  ...togetherFaults,
  ...findingFaults,
];
