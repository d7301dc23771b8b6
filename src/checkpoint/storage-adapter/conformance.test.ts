import { onFiles, onMaps, testAdapter, testDictLog } from "../../../test/storage-adapter/conformance.ts";

testDictLog("dict storage", onMaps());
testDictLog("dict storage of JSON files", onFiles);
testAdapter("dict storage", onMaps());
