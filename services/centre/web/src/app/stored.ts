// Choices of a person that the browser keeps: theme, language, zone. Nothing secret, and nothing that cannot be lost.

import { effect, signal, type Signal } from "@preact/signals";

/** A choice among words, kept under a name. */
export function stored<W extends string>(name: string, words: readonly W[], otherwise: W): Signal<W> {
    const key = `pagurus.${name}`;
    let kept: string | null = null;
    try {
        kept = window.localStorage.getItem(key);
    } catch {
        // A browser that keeps nothing: the choice lasts as long as the page.
    }
    const choice = signal<W>(words.find((word) => word === kept) ?? otherwise);
    effect(() => {
        try {
            window.localStorage.setItem(key, choice.value);
        } catch {
            // As above.
        }
    });
    return choice;
}
