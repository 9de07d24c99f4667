// The report's page needs no script; this one only helps the keyboard.

import { watchWide } from "./wide.js";

watchWide(document);
