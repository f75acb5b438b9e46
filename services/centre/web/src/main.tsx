import { render } from "preact";
import { Frame } from "./app/frame";
import { listenForPalette } from "./app/palette";
import { interceptLinks } from "./app/router";
import { loadSession } from "./app/session";

interceptLinks();
listenForPalette();

const root = document.getElementById("root");
if (root) render(<Frame />, root);

/** Asks who asks until the server answers: a page that was opened while it started comes alive by itself. */
async function start(pause: number): Promise<void> {
    try {
        await loadSession();
    } catch {
        window.setTimeout(() => void start(Math.min(pause * 2, 10_000)), pause);
    }
}
void start(500);
