// Groups of errors under the conditions of the address, and the orders of what is selected.

import { useState } from "preact/hooks";
import { read } from "../../api/client";
import { EXAMINED_FAILURES } from "../../api/examined";
import { useResource } from "../../api/resource";
import { go, query, to } from "../../app/router";
import { Button } from "../../parts/button";
import { Choice, hrefWith } from "../../parts/choice";
import { Page } from "../../parts/page";
import { Tabs } from "../../parts/tabs";
import { text } from "../../text/errors";
import { BulkDialog, type Bulk } from "./bulk-dialog";
import { GroupsPanel } from "./groups";
import { OrdersPanel } from "./orders";
import { commandOf, FIELDS, selectionOf, setConditions, SINCES, USUAL_SINCE, type Selection } from "./selection";
import { tabs } from "./tabs";

/** Groups of a page: each has bars, so that more of them would make a heavy page. */
const GROUPS = 50;

export function GroupsPage() {
    const selection = selectionOf(query.value);
    const { by, since, conditions, status } = selection;
    const chosen = setConditions(conditions).length > 0;
    const cursor = query.value.get("cursor");
    const groups = useResource(read("/v1/errors", {}, { by, since, ...conditions, examine: EXAMINED_FAILURES, limit: GROUPS, cursor: chosen ? undefined : cursor }));
    const orders = useResource(
        chosen ? read("/v1/errors/orders", {}, { ...conditions, since: status === "fail" ? since : undefined, status, limit: 50, cursor }) : null,
        { every: 10_000 },
    );
    const [bulk, setBulk] = useState<Bulk>();
    return (
        <Page title={text("title")} request={groups.request} command={commandOf(selection)}>
            <Tabs tabs={tabs()} label={text("tabs")} />
            <Bar selection={selection} />
            <ConditionList selection={selection} />
            <GroupsPanel selection={selection} resource={groups} paged={!chosen} onBulk={setBulk} />
            {chosen && <OrdersPanel selection={selection} resource={orders} since={groups.data?.since} onBulk={setBulk} />}
            {bulk && <BulkDialog bulk={bulk} onClose={() => setBulk(undefined)} onBegun={(no) => go(to("operations", String(no)))} />}
        </Page>
    );
}

/** By what, and over what time. */
function Bar({ selection }: { selection: Selection }) {
    return (
        <div class="row spread">
            <span class="row">
                <span class="faint">{text("by")}</span>
                <Choice
                    label={text("by")}
                    name="by"
                    chosen={selection.by}
                    usual="class"
                    drops={["cursor"]}
                    options={FIELDS.map((value) => ({ value, text: text(`by_${value}`) }))}
                />
            </span>
            <Choice
                label={text("since")}
                name="since"
                chosen={selection.since}
                usual={USUAL_SINCE}
                drops={["cursor"]}
                options={SINCES.map((value) => ({ value: value as string, text: text(`since_${value}`) }))}
            />
        </div>
    );
}

function ConditionList({ selection }: { selection: Selection }) {
    const set = setConditions(selection.conditions);
    if (set.length === 0) return null;
    const none = Object.fromEntries(FIELDS.map((field) => [field, undefined]));
    return (
        <ul class="conditions" aria-label={text("conditions")}>
            {set.map(([field, value]) => (
                <li key={field}>
                    <span class="faint">{text(`by_${field}`)}</span> <code>{value}</code>
                    <a
                        class="remove"
                        href={hrefWith({ [field]: undefined, cursor: undefined })}
                        aria-label={text("condition_remove", { condition: `${text(`by_${field}`)} ${value}` })}
                    >
                        ×
                    </a>
                </li>
            ))}
            {set.length > 1 && (
                <li class="plain">
                    <Button small kind="quiet" onClick={() => go(hrefWith({ ...none, by: undefined, cursor: undefined }))}>
                        {text("clear_all")}
                    </Button>
                </li>
            )}
        </ul>
    );
}
