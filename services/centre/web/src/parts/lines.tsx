import type { ComponentChildren } from "preact";

/** A value with a smaller line under it. */
export function Lines({ first, second }: { first: ComponentChildren; second?: ComponentChildren }) {
    return (
        <span class="two-lines">
            <span>{first}</span>
            {second && <span>{second}</span>}
        </span>
    );
}
