// Why an order does not run, in the words of the engine.

import { read, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { to } from "../../app/router";
import { Dialog } from "../../parts/dialog";
import { Eta } from "../../parts/eta";
import { Panel } from "../../parts/panel";
import { Said } from "../../parts/said";
import { queues as text } from "../../text/queues";

type Explanation = Schemas["Explanation"];

/** The answer of the engine; a forecast is shown only while it is fresh. */
export function Explained({ explanation, fresh }: { explanation: Explanation; fresh: boolean }) {
    const { eta } = explanation;
    return (
        <>
            <p>
                <code>{explanation.reason}</code>
            </p>
            <p>
                <Said text={explanation.explanation} />
            </p>
            {eta && fresh && <Eta eta={eta} />}
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
