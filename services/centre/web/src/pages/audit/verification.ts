// A verification as it goes on: page after page is asked for, until the chain ends, breaks, or somebody stops it.

import { json, read, type Failure } from "../../api/client";
import { begin, follow, type ChainPage, type NotedHead, type Verified } from "./chain";

/** Links of one page. */
const PAGE = 1_000;
/** Tries, where retention removes what is being verified. */
const TRIES = 5;

export type Outcome =
    | { readonly kind: "running"; readonly entries: number }
    | { readonly kind: "stopped" }
    | { readonly kind: "failed"; readonly failure: Failure | "overtaken" }
    | { readonly kind: "done"; readonly verified: Verified; readonly at: number };

/** Verifies the whole chain; `report` hears how far it is. */
export async function verifyChain(noted: NotedHead | undefined, signal: AbortSignal, report: (outcome: Outcome) => void): Promise<void> {
    try {
        for (let attempt = 0; attempt < TRIES; attempt++) {
            const verified = await once(noted, signal, report);
            if (verified.overtaken) continue;
            report({ kind: "done", verified, at: Date.now() });
            return;
        }
        report({ kind: "failed", failure: "overtaken" });
    } catch (error) {
        report(signal.aborted ? { kind: "stopped" } : { kind: "failed", failure: error as Failure });
    }
}

async function once(noted: NotedHead | undefined, signal: AbortSignal, report: (outcome: Outcome) => void): Promise<Verified> {
    let state: Verified | undefined;
    do {
        const page: ChainPage = await json(read("/v1/audit/verify", {}, { limit: PAGE, after: state?.next }), signal);
        state = follow(state ?? begin(page, noted), page);
        report({ kind: "running", entries: state.entries });
    } while (state.next !== undefined && !state.overtaken && !state.fault);
    return state;
}
