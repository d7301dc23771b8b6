import { proveOracleSaver } from "../../../test/oracle-stand-in/suites.ts";

// saver.test.ts has random operations; the suite of LangGraph itself is a campaign.
await proveOracleSaver(1);
