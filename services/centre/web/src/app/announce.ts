import { signal } from "@preact/signals";

/** What screen readers are to say next. */
export const announcement = signal("");

export function announce(text: string): void {
    announcement.value = text;
}
