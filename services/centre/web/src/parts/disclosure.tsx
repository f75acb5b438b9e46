import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

/** Something that is shown when it is asked for, and costs nothing before. */
export function Disclosure({ summary, children }: { summary: ComponentChildren; children: () => ComponentChildren }) {
    const [open, setOpen] = useState(false);
    return (
        <details class="disclosure" onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>{summary}</summary>
            {open && children()}
        </details>
    );
}
