import { render } from "preact";
import { loadAhead } from "./app/current";
import { Frame } from "./app/frame";
import { ready } from "./app/needs";
import { listenForPalette } from "./app/palette";
import { interceptLinks } from "./app/router";
import { loadSession } from "./app/session";

interceptLinks();
listenForPalette();
loadAhead();

const words = ready();
const root = document.getElementById("root");
const show = () => root && render(<Frame />, root);
words.then(show, show);

/** Asks who asks until the server answers: a page that was opened while it started comes alive by itself. */
async function start(pause: number, words: Promise<void>): Promise<void> {
    try {
        await Promise.all([words, loadSession()]);
    } catch {
        window.setTimeout(() => void start(Math.min(pause * 2, 10_000), ready()), pause);
    }
}
void start(500, words);
