import { useState } from "preact/hooks";

/** Keys of what is open, and the way to open or close one; without a wish, the other of both. */
export function useOpen(): [open: ReadonlySet<string>, turn: (key: string, wish?: boolean) => void] {
    const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
    const turn = (key: string, wish?: boolean) =>
        setOpen((before) => {
            const isOpen = before.has(key);
            if (isOpen === wish) return before;
            return new Set(isOpen ? [...before].filter((one) => one !== key) : [...before, key]);
        });
    return [open, turn];
}
