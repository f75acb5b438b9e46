import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";

/** Something that is shown when it is asked for, and costs nothing before. `open` says how it begins. */
export function Disclosure({ summary, open: first = false, children }: { summary: ComponentChildren; open?: boolean; children: () => ComponentChildren }) {
    const [open, setOpen] = useState(first);
    return (
        <details class="disclosure" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>{summary}</summary>
            {open && children()}
        </details>
    );
}
