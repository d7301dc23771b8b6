import { onFiles, testDictLog } from "../../../test/dict/conformance.ts";

testDictLog("dict storage of JSON files", onFiles);
