import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Width of an element in pixels, as it changes; 0 before it is known. */
export function useWidth(element: RefObject<HTMLElement | null>): number {
    const [width, setWidth] = useState(0);
    useEffect(() => {
        const box = element.current;
        if (!box) return undefined;
        const watcher = new ResizeObserver(() => setWidth(Math.floor(box.clientWidth)));
        watcher.observe(box);
        return () => watcher.disconnect();
    }, [element]);
    return width;
}
