import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

/** A part of a page that is made when it comes into view for the first time, so that what stands below asks for nothing before. */
export function WhenSeen({ children }: { children: () => ComponentChildren }) {
    const [seen, setSeen] = useState(false);
    const place = useRef<HTMLDivElement>(null);
    useEffect(() => {
        if (seen || !place.current) return undefined;
        const watcher = new IntersectionObserver((entries) => {
            if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
        });
        watcher.observe(place.current);
        return () => watcher.disconnect();
    }, [seen]);
    return seen ? children() : <div class="panel unseen" ref={place} />;
}
