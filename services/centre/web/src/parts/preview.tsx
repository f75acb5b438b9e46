import type { Failure } from "../api/client";
import { common } from "../text/common";

/** Why there is no preview of an action, in words. */
export function PreviewFailure({ failure }: { failure: Failure }) {
    return (
        <p class="bad-text" role="alert">
            {failure.status === 0 ? common("failed_network") : failure.message}
        </p>
    );
}
