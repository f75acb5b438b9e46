import { useMemo, useState } from "preact/hooks";
import { scenarios as text } from "../text/scenarios";
import { Button } from "./button";
import { lineDiff, partsOf, type DiffLine } from "./line-diff";
import "../style/workbench.css";

/** Lines that are shown before somebody asks for all: a page costs what it shows. */
const SHOWN = 400;

/** Differences of two texts: what is gone, what is new, and some lines around. */
export function LineDiff({ before, after }: { before: string; after: string }) {
    const [whole, setWhole] = useState(false);
    const lines = useMemo(() => lineDiff(before, after), [before, after]);
    const [gone, made] = [lines.filter((line) => line.kind === "gone").length, lines.filter((line) => line.kind === "new").length];
    if (gone + made === 0) return <p class="nothing">{text("diff_none")}</p>;
    const parts = partsOf(lines);
    const long = lines.length > SHOWN;
    return (
        <>
            <p class="soft">
                {text("diff_gone", { n: gone })}, {text("diff_new", { n: made })}
            </p>
            <div class="diff" role="region" aria-label={text("diff_lines")} tabIndex={0}>
                {parts.map((part, index) =>
                    "left" in part ? (
                        <p key={index} class="diff-left">
                            {text("diff_left", { n: part.left })}
                        </p>
                    ) : (
                        <ol key={index}>
                            {(long && !whole ? part.lines.slice(0, SHOWN) : part.lines).map((line) => (
                                <Line key={`${line.before}:${line.after}`} line={line} />
                            ))}
                        </ol>
                    ),
                )}
            </div>
            {parts.some((part) => "lines" in part && part.lines.length > SHOWN) && (
                <Button small kind="quiet" onClick={() => setWhole(!whole)}>
                    {text(whole ? "diff_less" : "diff_more")}
                </Button>
            )}
        </>
    );
}

const MARKS = { same: " ", gone: "−", new: "+" } as const;

function Line({ line }: { line: DiffLine }) {
    return (
        <li class={`diff-line ${line.kind}`}>
            <span class="diff-number" aria-hidden="true">
                {line.before}
            </span>
            <span class="diff-number" aria-hidden="true">
                {line.after}
            </span>
            <span class="diff-mark">
                {MARKS[line.kind]}
                {line.kind !== "same" && <span class="hidden-text">{text(line.kind === "gone" ? "diff_line_gone" : "diff_line_new")}</span>}
            </span>
            <code>{line.text}</code>
        </li>
    );
}
