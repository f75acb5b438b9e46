import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "./button";

interface Props {
    title: string;
    /** Name of the button that shows it at once. */
    act: string;
    /** Whether it may be made without anybody having moved yet: a page that asks for little has room for one request more. */
    eager: boolean;
    children: () => ComponentChildren;
}

const MOVES = ["scroll", "wheel", "keydown", "pointerdown"] as const;

/** A part of a page that is made when somebody comes to it, so that it asks for nothing while the page is loaded. */
export function WhenSeen({ title, act, eager, children }: Props) {
    const [moved, setMoved] = useState(false);
    const [seen, setSeen] = useState(false);
    const place = useRef<HTMLElement>(null);
    const watching = eager || moved;
    useEffect(() => {
        if (watching) return undefined;
        const move = () => setMoved(true);
        for (const name of MOVES) window.addEventListener(name, move, { passive: true });
        return () => {
            for (const name of MOVES) window.removeEventListener(name, move);
        };
    }, [watching]);
    useEffect(() => {
        if (seen || !watching || !place.current) return undefined;
        const watcher = new IntersectionObserver((entries) => {
            if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
        });
        watcher.observe(place.current);
        return () => watcher.disconnect();
    }, [seen, watching]);
    if (seen) return children();
    return (
        <section class="panel unseen" ref={place} aria-label={title}>
            <header class="panel-head">
                <h2>{title}</h2>
                <Button small onClick={() => setSeen(true)}>
                    {act}
                </Button>
            </header>
        </section>
    );
}
