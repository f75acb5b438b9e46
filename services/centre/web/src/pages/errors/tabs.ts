import type { Tab } from "../../parts/tabs";
import { text } from "../../text/errors";

/** Parts of the errors page. */
export function tabs(): Tab[] {
    return [
        { key: "groups", name: text("tab_groups") },
        { key: "classify", name: text("classify") },
    ];
}
