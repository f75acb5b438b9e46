import { toWith } from "../../app/router";
import { number } from "../../app/time";
import { Badge } from "../../parts/badge";
import type { Query } from "../../api/client";
import type { Group } from "./live";
import "../../style/workbench.css";

/** Numbers of orders by status, each a link to the orders behind it. */
export function Statuses({ group, query }: { group: Group; query: Query }) {
    return (
        <span class="row">
            {group.statuses.map(({ status, orders }) => (
                <a key={status} class="counted" href={toWith("orders", { ...query, status })}>
                    <Badge word={status} /> <span class="number">{number(orders)}</span>
                </a>
            ))}
        </span>
    );
}
