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

/** Does something at once and every `every` ms (0: once) while the page is seen, and once more when it is seen again. */
export function whileSeen(every: number, work: () => void): () => void {
    let timer: number | undefined;
    const start = () => {
        work();
        if (every > 0) timer = window.setInterval(work, every);
    };
    const look = () => {
        window.clearInterval(timer);
        if (!document.hidden) start();
    };
    document.addEventListener("visibilitychange", look);
    look();
    return () => {
        document.removeEventListener("visibilitychange", look);
        window.clearInterval(timer);
    };
}
