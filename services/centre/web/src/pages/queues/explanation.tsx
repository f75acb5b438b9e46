// Why an order does not run, in the words of the engine.

import { read, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { now } from "../../app/clock";
import { to } from "../../app/router";
import { shortTime } from "../../app/time";
import { Dialog } from "../../parts/dialog";
import { Panel } from "../../parts/panel";
import { Said } from "../../parts/said";
import { queues as text } from "../../text/queues";

type Explanation = Schemas["Explanation"];

/** The answer of the engine; a forecast is shown only while it is fresh. */
export function Explained({ explanation, fresh }: { explanation: Explanation; fresh: boolean }) {
    const { eta } = explanation;
    const time = (at: string) => shortTime(at, now.value);
    return (
        <>
            <p>
                <code>{explanation.reason}</code>
            </p>
            <p>
                <Said text={explanation.explanation} />
            </p>
            {eta && fresh && <p class="soft">{text("eta", { p50: time(eta.p50), p90: time(eta.p90) })}</p>}
        </>
    );
}

export function ExplanationDialog({ order, onClose }: { order: string; onClose: () => void }) {
    const explanation = useResource<Explanation>(read("/v1/orders/{id}/explain", { id: order }));
    return (
        <Dialog title={text("explain_of", { order })} onClose={onClose}>
            <div class="dialog-body">
                <Panel bare level={3} resource={explanation}>
                    {(data) => <Explained explanation={data} fresh={explanation.state === "fresh"} />}
                </Panel>
                <p>
                    <a href={to("orders", order)}>{order}</a>
                </p>
            </div>
        </Dialog>
    );
}
