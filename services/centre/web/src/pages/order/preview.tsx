// What an action would do, tried by the server and taken back, before somebody does it.

import { useAnswer } from "../../api/answer";
import type { ApiRequest, Schemas } from "../../api/client";
import { Badge } from "../../parts/badge";
import { orderAction } from "../../text/order-actions";

/** Status that would follow a request; the request is sent as a dry run. Nothing is asked while there is none. */
export function Preview({ request }: { request: ApiRequest | undefined }) {
    const { data, failure, busy } = useAnswer<Schemas["StatusView"]>(request ? { ...request, url: `${request.url}?dryRun=true` } : null);
    if (!request) return null;
    return (
        <div class={failure && !busy ? "dry-run bad" : "dry-run"} role="status">
            {busy && <span class="faint">{orderAction("preview_busy")}</span>}
            {!busy && failure && orderAction("preview_bad", { reason: failure.message })}
            {!busy && data && (
                <>
                    {orderAction("preview")} <Badge word={data.status} /> {data.note}
                </>
            )}
        </div>
    );
}
