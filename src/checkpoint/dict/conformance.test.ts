import { onFiles, onMaps, testAdapter, testDictLog } from "../../../test/dict/conformance.ts";

testDictLog("dict storage", onMaps());
testDictLog("dict storage of JSON files", onFiles);
testAdapter("dict storage", onMaps());
