import type { ComponentChildren } from "preact";
import { may } from "../app/session";
import { common } from "../text/common";

interface Props {
    onClick?: () => void;
    kind?: "plain" | "primary" | "danger" | "quiet";
    small?: boolean;
    disabled?: boolean;
    busy?: boolean;
    type?: "button" | "submit";
    /** Name for readers where the button shows a picture only. */
    label?: string;
    title?: string;
    /** Role that the action asks for: others see the button, and why they may not. */
    needs?: "operator" | "admin";
    pressed?: boolean;
    expanded?: boolean;
    children: ComponentChildren;
}

export function Button({ onClick, kind = "plain", small, disabled, busy, type = "button", label, title, needs, pressed, expanded, children }: Props) {
    const barred = needs !== undefined && !may(needs);
    const why = barred ? common(needs === "admin" ? "needs_admin" : "needs_operator") : title;
    return (
        <button
            type={type}
            class={`button ${kind}${small ? " small" : ""}`}
            disabled={disabled || barred || busy}
            aria-busy={busy}
            aria-label={label}
            aria-pressed={pressed}
            aria-expanded={expanded}
            title={why}
            onClick={onClick}
        >
            {children}
        </button>
    );
}
