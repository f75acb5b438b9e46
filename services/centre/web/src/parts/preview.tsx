// What an action would do, asked for by its dry run while it is typed.

import { useEffect, useState } from "preact/hooks";
import { Failure, json, type ApiRequest } from "../api/client";
import { common } from "../text/common";

export interface Previewed<T> {
    /** Answer of the dry run of what stands there now; nothing while it is asked for, or cannot be. */
    readonly answer: T | undefined;
    readonly failure: Failure | undefined;
    readonly busy: boolean;
}

/** Pause after the last key, in ms: a dry run is asked for once somebody has typed. */
const PAUSE = 300;

interface Asked<T> extends Previewed<T> {
    readonly of: string | undefined;
}

/** The answer of a dry run, asked for again whenever the request is another. `null`: not yet complete, nothing is asked. */
export function usePreview<T>(request: ApiRequest | null): Previewed<T> {
    const key = request ? JSON.stringify(request) : undefined;
    const [asked, setAsked] = useState<Asked<T>>({ of: undefined, answer: undefined, failure: undefined, busy: false });
    useEffect(() => {
        if (key === undefined) return undefined;
        const asking = new AbortController();
        const timer = window.setTimeout(() => {
            json<T>(JSON.parse(key) as ApiRequest, asking.signal).then(
                (answer) => setAsked({ of: key, answer, failure: undefined, busy: false }),
                (error: unknown) => {
                    if (asking.signal.aborted) return;
                    const failure = error instanceof Failure ? error : new Failure(0, { detail: String(error) });
                    setAsked({ of: key, answer: undefined, failure, busy: false });
                },
            );
        }, PAUSE);
        return () => {
            window.clearTimeout(timer);
            asking.abort();
        };
    }, [key]);
    if (key === undefined) return { answer: undefined, failure: undefined, busy: false };
    return asked.of === key ? asked : { answer: undefined, failure: undefined, busy: true };
}

/** Why there is no preview, in words. */
export function PreviewFailure({ failure }: { failure: Failure }) {
    return (
        <p class="bad-text" role="alert">
            {failure.status === 0 ? common("failed_network") : failure.message}
        </p>
    );
}
