import { Failure } from "../api/client";
import { common } from "./common";

/** Why something failed, in a sentence: the server's own, or that it does not answer. */
export function reasonText(error: unknown): string {
    if (error instanceof Failure && error.status === 0) return common("failed_network");
    return error instanceof Error ? error.message : String(error);
}
