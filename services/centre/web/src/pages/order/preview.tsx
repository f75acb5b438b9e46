// What an action would do, tried by the server and taken back, before somebody does it.

import { useEffect, useState } from "preact/hooks";
import { json, type ApiRequest, type Schemas } from "../../api/client";
import { Badge } from "../../parts/badge";
import { order as text } from "../../text/order";

/** Time without a key pressed after which the server is asked. */
const PAUSE = 350;

type Tried = { readonly view?: Schemas["StatusView"]; readonly problem?: string };

/** Status that would follow a request; the request is sent as a dry run. Nothing is asked while there is none. */
export function Preview({ request }: { request: ApiRequest | undefined }) {
    const [tried, setTried] = useState<Tried>();
    const key = request ? JSON.stringify(request) : "";
    useEffect(() => {
        setTried(undefined);
        if (key === "") return undefined;
        const asking = new AbortController();
        const wanted = JSON.parse(key) as ApiRequest;
        const timer = window.setTimeout(() => {
            json<Schemas["StatusView"]>({ ...wanted, url: `${wanted.url}?dryRun=true` }, asking.signal)
                .then((view) => setTried({ view }))
                .catch((error: unknown) => {
                    if (!asking.signal.aborted) setTried({ problem: (error as Error).message });
                });
        }, PAUSE);
        return () => {
            window.clearTimeout(timer);
            asking.abort();
        };
    }, [key]);
    if (!request) return null;
    return (
        <div class={tried?.problem ? "preview bad" : "preview"} role="status">
            {!tried && <span class="faint">{text("preview_busy")}</span>}
            {tried?.problem && text("preview_bad", { reason: tried.problem })}
            {tried?.view && (
                <>
                    {text("preview")} <Badge word={tried.view.status} /> {tried.view.note}
                </>
            )}
        </div>
    );
}
