// Copying of text, also over plain HTTP, where browsers keep their clipboard from pages.

import { useState } from "preact/hooks";
import { common } from "../text/common";
import { Button } from "./button";

/** Puts text into the clipboard. */
export async function copy(text: string): Promise<void> {
    if (window.isSecureContext && navigator.clipboard) {
        await navigator.clipboard.writeText(text);
        return;
    }
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "hidden-text";
    // Inside an open dialog, since what stands outside of it takes no focus.
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    const focused = document.activeElement as HTMLElement | null;
    area.select();
    document.execCommand("copy");
    area.remove();
    focused?.focus();
}

export function CopyButton({ text, label, name }: { text: string | (() => string); label?: string; name?: string }) {
    const [copied, setCopied] = useState(false);
    const act = async () => {
        await copy(typeof text === "string" ? text : text());
        setCopied(true);
        window.setTimeout(() => setCopied(false), 1_500);
    };
    return (
        <Button small kind="quiet" label={label ?? name ?? common("copy")} onClick={() => void act()}>
            <span aria-live="polite">{copied ? common("copied") : (name ?? common("copy"))}</span>
        </Button>
    );
}
