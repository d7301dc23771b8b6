import { render } from "preact";
import { recallTheme } from "./about.ts";
import { watchAddress } from "./addresses.ts";
import { App } from "./app.tsx";
import { takeToken } from "./asking.ts";

takeToken();
recallTheme();
watchAddress();
const root = document.getElementById("studio");
if (root !== null) render(<App />, root);
