// The answer to a request that asks and changes nothing, though its method is POST: a dry run, a question with a body.

import { useEffect, useState } from "preact/hooks";
import { Failure, json, type ApiRequest } from "./client";

export interface Answered<T> {
    readonly data?: T;
    readonly failure?: Failure;
    readonly busy: boolean;
}

/** Asks once for each other request; `null` asks for nothing. A burst of requests, as from typing, asks once. */
export function useAnswer<T>(request: ApiRequest | null, pause = 250): Answered<T> {
    const [answered, setAnswered] = useState<Answered<T>>({ busy: request !== null });
    const key = request ? JSON.stringify(request) : undefined;
    useEffect(() => {
        if (key === undefined) {
            setAnswered({ busy: false });
            return undefined;
        }
        const asking = new AbortController();
        setAnswered((before) => ({ ...before, busy: true }));
        const timer = window.setTimeout(() => {
            json<T>(JSON.parse(key) as ApiRequest, asking.signal).then(
                (data) => setAnswered({ data, busy: false }),
                (error: unknown) => {
                    if (asking.signal.aborted) return;
                    setAnswered({ failure: error instanceof Failure ? error : new Failure(0, { detail: String(error) }), busy: false });
                },
            );
        }, pause);
        return () => {
            window.clearTimeout(timer);
            asking.abort();
        };
    }, [key, pause]);
    return answered;
}
