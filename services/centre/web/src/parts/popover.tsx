// A button that opens a small window beside it, closed by Escape and by a click elsewhere.

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { address } from "../app/router";

interface Props {
    label: string;
    button: ComponentChildren;
    children: ComponentChildren;
    /** A wide button shows its label. */
    wide?: boolean;
    /** Stays open while the address changes: for choices that stand in the address. */
    stays?: boolean;
}

export function Popover({ label, button, children, wide, stays }: Props) {
    const [open, setOpen] = useState(false);
    const box = useRef<HTMLDivElement>(null);
    const opener = useRef<HTMLButtonElement>(null);
    const at = address.value;
    useEffect(() => {
        if (!stays) setOpen(false);
    }, [at]);
    useEffect(() => {
        if (!open) return undefined;
        const outside = (event: Event) => {
            if (!box.current?.contains(event.target as Node)) setOpen(false);
        };
        document.addEventListener("pointerdown", outside);
        return () => document.removeEventListener("pointerdown", outside);
    }, [open]);
    const onKeyDown = (event: KeyboardEvent) => {
        if (event.key !== "Escape" || !open) return;
        event.stopPropagation();
        setOpen(false);
        opener.current?.focus();
    };
    return (
        <div class="popover" ref={box} onKeyDown={onKeyDown}>
            <button
                type="button"
                ref={opener}
                class={wide ? "button quiet" : "button quiet icon-only"}
                aria-expanded={open}
                aria-label={wide ? undefined : label}
                title={label}
                onClick={() => setOpen(!open)}
            >
                {button}
            </button>
            {open && <div class="popover-box">{children}</div>}
        </div>
    );
}
