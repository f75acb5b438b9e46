// Numbers of different things as bars, one below the other; each name leads to the list behind its number.

import type { ComponentChildren } from "preact";
import { number } from "../app/time";

export interface Bar {
    readonly key: string;
    readonly name: ComponentChildren;
    readonly value: number;
    /** Value as text; left out: the number. */
    readonly text?: string;
    readonly href?: string;
    /** Name of a colour of the style sheet. */
    readonly tone?: "good" | "bad" | "busy" | "wait" | "rest" | "warn" | "plain";
}

/** Bars against the longest of them, or against `most`; `beside` puts them side by side where there is room. */
export function Bars({ bars, most, beside }: { bars: readonly Bar[]; most?: number; beside?: boolean }) {
    const top = most ?? Math.max(1, ...bars.map((bar) => bar.value));
    return (
        <ul class={beside ? "bar-list beside" : "bar-list"}>
            {bars.map((bar) => (
                <li key={bar.key}>
                    <span class="bar-name">{bar.href ? <a href={bar.href}>{bar.name}</a> : bar.name}</span>
                    <span class="bar-value">{bar.text ?? number(bar.value)}</span>
                    <svg class={`bar ${bar.tone ?? "plain"}`} viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
                        <rect class="rail" width="100" height="4" />
                        <rect width={width(bar.value, top)} height="4" />
                    </svg>
                </li>
            ))}
        </ul>
    );
}

/** Length of a bar in hundredths: what is there is seen, however little it is. */
function width(value: number, top: number): number {
    return value <= 0 ? 0 : Math.max(0.6, Math.min(100, (100 * value) / top));
}
