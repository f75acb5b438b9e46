import type { Tab } from "../../parts/tabs";
import { text } from "../../text/refused";

/** Parts of the page of refused messages. */
export function tabs(): Tab[] {
    return [
        { key: "messages", name: text("tab_messages") },
        { key: "notifications", name: text("tab_notifications") },
    ];
}
