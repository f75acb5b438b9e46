// What only a person can decide about: refused messages, and notifications that were parked.

import { chosenTab } from "../parts/tabs";
import { MessagesPage } from "./refused/messages";
import { NotificationsPage } from "./refused/notifications";
import { tabs } from "./refused/tabs";

export default function Refused() {
    return chosenTab(tabs()) === "notifications" ? <NotificationsPage /> : <MessagesPage />;
}
