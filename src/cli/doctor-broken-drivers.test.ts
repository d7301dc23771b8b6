import { afterEach, expect, test, vi } from "vitest";
import { DRIVER_FAULTS } from "../../test/broken/drivers/every-fault.ts";
import { assertFound } from "../../test/cli/doctor-on-broken-driver.ts";

afterEach(() => vi.restoreAllMocks());

test.each(DRIVER_FAULTS)("doctor finds a driver that $fault, and leaves nothing behind or says so", assertFound);

test("there are drivers to be found", () => {
  expect(DRIVER_FAULTS.length).toBeGreaterThan(80);
});
