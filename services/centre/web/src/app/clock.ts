// The browser's clock as a signal of seconds, and work that is repeated only while the page is seen.

import { signal } from "@preact/signals";

/** Now, in milliseconds; it moves once a second while the page is seen. */
export const now = signal(Date.now());

/** Whether the page is seen. */
export const seen = signal(typeof document === "undefined" ? true : !document.hidden);

if (typeof document !== "undefined") {
    window.setInterval(() => {
        if (seen.value) now.value = Date.now();
    }, 1_000);
    document.addEventListener("visibilitychange", () => {
        now.value = Date.now();
        seen.value = !document.hidden;
    });
}

/**
 * Does something every `every` ms (0: never again) while the page is seen, and `first` when it is seen, `pause` ms later. Returns how
 * to end it.
 */
export function whileSeen(every: number, work: () => void, first: () => void = work, pause = 0): () => void {
    let timer: number | undefined;
    let starting: number | undefined;
    const end = () => {
        window.clearTimeout(starting);
        window.clearInterval(timer);
    };
    const look = () => {
        end();
        if (document.hidden) return;
        if (pause > 0) starting = window.setTimeout(first, pause);
        else first();
        if (every > 0) timer = window.setInterval(work, every);
    };
    document.addEventListener("visibilitychange", look);
    look();
    return () => {
        document.removeEventListener("visibilitychange", look);
        end();
    };
}
