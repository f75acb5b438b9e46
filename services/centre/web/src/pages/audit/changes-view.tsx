// Two values as JSON, and what differs between them. Signs stand before the lines, so that nobody needs the colours.

import { text } from "../../text/audit";
import { jsonLines, lineDiff, type DiffLine } from "./changes";

/** Lines without a change that stand around one. */
const AROUND = 3;
const SIGNS = { same: " ", removed: "−", added: "+" } as const;

export function Changes({ before, after }: { before: unknown; after: unknown }) {
    const lines = lineDiff(jsonLines(before), jsonLines(after));
    return (
        <pre class="changes" tabIndex={0}>
            {shortened(lines).map((line, index) =>
                typeof line === "number" ? (
                    <span key={index} class="changes-gap">
                        {text("same", { n: line })}
                    </span>
                ) : (
                    <span key={index} class={`changes-${line.kind}`}>
                        <span aria-hidden="true">{SIGNS[line.kind]} </span>
                        {line.kind !== "same" && <span class="hidden-text">{text(line.kind)} </span>}
                        {line.text}
                    </span>
                ),
            )}
        </pre>
    );
}

/** Lines near a change; a number stands for as many others. */
function shortened(lines: readonly DiffLine[]): (DiffLine | number)[] {
    const near = (at: number) => lines.slice(Math.max(0, at - AROUND), at + AROUND + 1).some((line) => line.kind !== "same");
    const shown: (DiffLine | number)[] = [];
    for (const [at, line] of lines.entries()) {
        if (near(at)) shown.push(line);
        else if (typeof shown.at(-1) === "number") shown.push((shown.pop() as number) + 1);
        else shown.push(1);
    }
    return shown;
}
