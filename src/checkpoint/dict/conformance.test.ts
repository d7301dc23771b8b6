import { onMaps, testAdapter, testDictLog } from "../../../test/dict/conformance.ts";

testDictLog("dict storage", onMaps());
testAdapter("dict storage", onMaps());
