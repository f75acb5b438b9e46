// Errors: failed and retrying orders in groups, their orders, an action on all of a group; and how an answer is classified.

import { chosenTab } from "../parts/tabs";
import { ClassifyPage } from "./errors/classify";
import { GroupsPage } from "./errors/groups-page";
import { tabs } from "./errors/tabs";

export default function Errors() {
    return chosenTab(tabs()) === "classify" ? <ClassifyPage /> : <GroupsPage />;
}
