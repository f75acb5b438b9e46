import type { Shown } from "../../api/resource";
import { Facts } from "../../parts/facts";
import { Json } from "../../parts/json";
import { Panel } from "../../parts/panel";
import { Time } from "../../parts/moment";
import { order as text } from "../../text/order";
import type { Order } from "./permitted";

type Name = "params" | "vars" | "result" | "notify";

/** What the order was given, what it keeps, and what it gave. */
export function DataTab({ shown }: { shown: Shown<Order> }) {
    return (
        <div class="columns">
            {(["params", "vars", "result", "notify"] as const).map((name) => (
                <DataPanel key={name} name={name} shown={shown} />
            ))}
            <Panel title={text("notifications")} resource={shown} empty={(order) => order.unsentNotifications.length === 0}>
                {(order) => order.unsentNotifications.map((one) => <Unsent key={`${one.life} ${one.kind}`} unsent={one} />)}
            </Panel>
        </div>
    );
}

function DataPanel({ name, shown }: { name: Name; shown: Shown<Order> }) {
    return (
        <Panel title={text(name)} resource={shown} empty={(order) => isEmpty(order[name])}>
            {(order) => <Json value={order[name]} />}
        </Panel>
    );
}

/** Parameters and result, where there are any. */
export function InAndOut({ shown }: { shown: Shown<Order> }) {
    const { data } = shown;
    return <>{(["params", "result"] as const).map((name) => data && !isEmpty(data[name]) && <DataPanel key={name} name={name} shown={shown} />)}</>;
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
