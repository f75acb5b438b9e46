// A recording of the terminal for the README, of a running engine: `. .dev/env; node recording.mjs FILE`. Runs the commands, keeps what
// they print and how long they take, and writes all of it as a picture that moves.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const file = process.argv[2] ?? "terminal.svg";
const ROOT = join(import.meta.dirname, "../..");
const WIDTH = 920;
const LINE = 19;
const MOST_COLUMNS = 104;
/** Seconds for a typed character, and before the next command. */
const TYPING = 0.03;
const PAUSE = 1.2;

/** Process id of a worker, as the development tool notes it. */
function worker() {
    const nodes = readFileSync(join(process.env.PAGURUS_DATA, "nodes"), "utf8").split("\n");
    return nodes.map((line) => line.split(" ")).find(([, role]) => role === "worker")[2];
}

const id = `shop-${Date.now() % 10_000}`;
/** Notes, and commands with the number of lines that are shown of each. */
const STORY = [
    ["# A called system fails three times."],
    [`pagurus order submit --id ${id} --scenario one-action --param fail:=3`, 1],
    [`pagurus order explain ${id}`, 4],
    ["# The worker dies, and another one starts."],
    [`kill -9 ${worker()}`, 0],
    [`./dev node start worker worker-2`, 0],
    [`curl -s "$PAGURUS_SERVER/v1/orders/${id}/wait?timeout=60"`, 2],
    [`pagurus order ledger ${id}`, 7],
];

/** Runs a command, and returns its lines. */
function run(command) {
    const path = `${process.env.PAGURUS_BIN}:${process.env.PATH}`;
    try {
        const options = { cwd: ROOT, env: { ...process.env, PATH: path }, encoding: "utf8" };
        return execFileSync("sh", ["-c", command], options).trimEnd().split("\n");
    } catch (error) {
        return `${error.stdout ?? ""}${error.stderr ?? ""}`.trimEnd().split("\n");
    }
}

/** The lines of a text, with long ones broken at words. */
function wrapped(lines) {
    return lines.flatMap((line) => line.match(new RegExp(`.{1,${MOST_COLUMNS}}(?:\\s|$)|\\S{1,${MOST_COLUMNS}}`, "g")) ?? [""]);
}

const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

let at = 0.5;
const shown = [];
for (const [typed, lines] of STORY) {
    if (lines === undefined) {
        shown.push({ at, text: typed, kind: "note" });
        at += PAUSE;
        continue;
    }
    shown.push({ at, text: `$ ${typed}`, kind: "typed", lasts: typed.length * TYPING });
    at += typed.length * TYPING + 0.3;
    const started = Date.now();
    const output = wrapped(run(typed));
    at += Math.min((Date.now() - started) / 1000, 3);
    for (const text of output.slice(0, lines)) shown.push({ at, text, kind: "said" });
    at += PAUSE;
}

const rows = shown.map(({ at, text, kind, lasts = 0 }, row) => {
    const y = 44 + row * LINE;
    const steps = Math.max(text.length, 1);
    const typing = lasts > 0 ? ` style="animation: show 0s ${at.toFixed(2)}s forwards, type ${lasts.toFixed(2)}s steps(${steps}) ${at.toFixed(2)}s both"` : ` style="animation-delay: ${at.toFixed(2)}s"`;
    return `<text class="${kind}" x="18" y="${y}"${typing}>${escaped(text)}</text>`;
});
const height = 60 + shown.length * LINE;
writeFileSync(
    file,
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img" aria-label="A terminal: an order is sent, its worker is killed, and the order ends all the same">
<style>
rect { fill: #0f2a30; } circle { fill: #3a5a60; }
text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, monospace; white-space: pre; fill: #c9d6d8; opacity: 0; animation: show 0s forwards; }
.typed { fill: #ffffff; } .note { fill: #7fc4b8; }
@keyframes show { to { opacity: 1; } }
@keyframes type { from { clip-path: inset(0 100% 0 0); } to { clip-path: inset(0 -2em 0 0); } }
@media (prefers-reduced-motion: reduce) { text { opacity: 1; animation: none !important; } }
</style>
<rect width="${WIDTH}" height="${height}" rx="10"/>
<circle cx="20" cy="16" r="5"/><circle cx="38" cy="16" r="5"/><circle cx="56" cy="16" r="5"/>
${rows.join("\n")}
</svg>
`,
);
