// Counts of the found orders by status, each a link that narrows the search to it.

import type { Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { number } from "../../app/time";
import { common } from "../../text/common";
import { orders as text } from "../../text/orders";
import { Badge } from "../../parts/badge";
import { Panel } from "../../parts/panel";
import { STATUSES } from "./conditions";
import { countRequest, isCountable, listOf, overStatuses, valueOf, withCondition, type Selection } from "./selection";

interface Props {
    selection: Selection;
    addressOf: (selection: Selection) => string;
    live: boolean;
}

/** Counting looks at many orders: it is asked for less often than the list. */
const EVERY = 10_000;

export function QuickFilters(props: Props) {
    // The search of a name has conditions of its own: another status beside it would be refused.
    if (valueOf(props.selection, "saved") !== undefined) return null;
    return isCountable(props.selection) ? <Counted {...props} /> : <Chips {...props} />;
}

function Counted(props: Props) {
    const { selection, live } = props;
    const counts = useResource(countRequest(overStatuses(selection), "status"), { every: live ? EVERY : 0 });
    return (
        <Panel bare resource={counts}>
            {(found) => (
                <div class="quick">
                    <Chips {...props} counts={found} />
                    {counts.state === "fresh" && <Total counts={found} selection={selection} />}
                </div>
            )}
        </Panel>
    );
}

function Chips({ counts, selection, addressOf }: Props & { counts?: Schemas["OrderCounts"] }) {
    const chosen = listOf(selection, "status");
    const found = new Map(counts?.items.map((item) => [item.key[0] ?? "", item.orders]));
    return (
        <nav class="chips" aria-label={text("quick")}>
            <a class="chip" href={addressOf(withCondition(selection, "status", undefined))} aria-current={chosen.length === 0 ? "true" : undefined}>
                {common("all")}
            </a>
            {/* Also those without orders: nothing moves under the pointer when the first one comes. */}
            {STATUSES.map((status) => (
                <a
                    key={status}
                    class={counts && !found.has(status) ? "chip without" : "chip"}
                    href={addressOf(withCondition(selection, "status", status))}
                    aria-current={chosen.includes(status) ? "true" : undefined}
                >
                    <Badge word={status} />
                    {found.has(status) && <span class="number">{countText(found.get(status), counts?.complete ?? false)}</span>}
                </a>
            ))}
        </nav>
    );
}

function countText(count: number | undefined, complete: boolean): string {
    return `${complete ? "" : "≥ "}${number(count ?? 0)}`;
}

function Total({ counts, selection }: { counts: Schemas["OrderCounts"]; selection: Selection }) {
    return (
        <p class="faint">
            <span class="strong">{text(counts.complete ? "total" : "total_at_least", { n: totalOf(counts, selection) })}</span>
            {". "}
            {text(counts.complete ? "total_complete" : "total_incomplete")}
        </p>
    );
}

/** Number of the orders of the selection, whose statuses may be some of those that were counted. */
function totalOf(counts: Schemas["OrderCounts"], selection: Selection): number {
    const chosen = listOf(selection, "status");
    if (chosen.length === 0) return counts.orders;
    return counts.items.filter((item) => chosen.includes(item.key[0] ?? "")).reduce((sum, item) => sum + item.orders, 0);
}
