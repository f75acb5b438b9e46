import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Button } from "./button";

interface Props {
    title: string;
    /** Name of the button that shows it at once. */
    act: string;
    /** Whether it is made at once: a page that asks for little has room for one request more. What was made once stays. */
    eager: boolean;
    children: () => ComponentChildren;
}

const MOVES = ["scroll", "wheel", "keydown", "pointerdown"] as const;

/** A part of a page that is made when somebody comes to it, so that it asks for nothing while the page is loaded. */
export function WhenSeen({ title, act, eager, children }: Props) {
    const [moved, setMoved] = useState(false);
    const [seen, setSeen] = useState(false);
    const place = useRef<HTMLElement>(null);
    useEffect(() => {
        if (eager) setSeen(true);
    }, [eager]);
    useEffect(() => {
        if (moved || seen) return undefined;
        const move = () => setMoved(true);
        for (const name of MOVES) window.addEventListener(name, move, { passive: true });
        return () => {
            for (const name of MOVES) window.removeEventListener(name, move);
        };
    }, [moved, seen]);
    useEffect(() => {
        if (seen || !moved || !place.current) return undefined;
        const watcher = new IntersectionObserver((entries) => {
            if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
        });
        watcher.observe(place.current);
        return () => watcher.disconnect();
    }, [moved, seen]);
    if (seen || eager) return children();
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
