import type { Failure } from "../api/client";
import { reasonText } from "../text/reason";

/** Why there is no preview of an action, in words. */
export function PreviewFailure({ failure }: { failure: Failure }) {
    return (
        <p class="bad-text" role="alert">
            {reasonText(failure)}
        </p>
    );
}
