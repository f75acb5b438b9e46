import type { Shown } from "../../api/resource";
import { Facts } from "../../parts/facts";
import { Json } from "../../parts/json";
import { Panel } from "../../parts/panel";
import { Time } from "../../parts/moment";
import { order as text } from "../../text/order";
import type { Order } from "./permitted";

/** What the order was given, what it keeps, and what it gave. */
export function DataTab({ shown }: { shown: Shown<Order> }) {
    const parts = [
        ["params", (order: Order) => order.params],
        ["vars", (order: Order) => order.vars],
        ["result", (order: Order) => order.result],
        ["notify", (order: Order) => order.notify],
    ] as const;
    return (
        <div class="columns">
            {parts.map(([name, of]) => (
                <Panel key={name} title={text(name)} resource={shown} empty={(order) => isEmpty(of(order))}>
                    {(order) => <Json value={of(order)} />}
                </Panel>
            ))}
            <Panel title={text("notifications")} resource={shown} empty={(order) => order.unsentNotifications.length === 0}>
                {(order) => order.unsentNotifications.map((one) => <Unsent key={`${one.life} ${one.kind}`} unsent={one} />)}
            </Panel>
        </div>
    );
}

function isEmpty(value: unknown): boolean {
    return value === null || value === undefined || (typeof value === "object" && Object.keys(value).length === 0);
}

function Unsent({ unsent }: { unsent: Order["unsentNotifications"][number] }) {
    return (
        <Facts
            facts={[
                [text("kind"), <code>{unsent.kind}</code>],
                [text("target"), unsent.target],
                [text("attempts"), unsent.attempts],
                [text("error"), unsent.lastError],
                [text("parked"), unsent.parkedBecause],
                [text("due"), unsent.nextAt && <Time at={unsent.nextAt} />],
            ]}
        />
    );
}
