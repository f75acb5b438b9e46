// The picture of a time line. Its places are attributes, its colours those of the theme.

import { useRef } from "preact/hooks";
import { now } from "../../app/clock";
import { duration } from "../../app/time";
import { useWidth } from "../../parts/width";
import { order as text } from "../../text/order";
import { exactTime } from "./exact";
import { wordsOf } from "./span-words";
import type { Span, Story } from "./spans";
import { layoutOf, type Bar, type Layout } from "./time-line-layout";

interface Props {
    story: Story;
    chosen: number;
    onChoose: (index: number) => void;
}

const STEPS: Record<string, (at: number, last: number) => number> = {
    ArrowRight: (at, last) => Math.min(last, at + 1),
    ArrowLeft: (at) => Math.max(0, at - 1),
    Home: () => 0,
    End: (_, last) => last,
};

export function Drawing({ story, chosen, onChoose }: Props) {
    const box = useRef<HTMLDivElement>(null);
    const width = useWidth(box);
    return (
        <div class="timeline" ref={box}>
            {width > 0 && <Picture layout={layoutOf(story, width)} width={width} story={story} chosen={chosen} onChoose={onChoose} />}
        </div>
    );
}

function Picture({ layout, width, story, chosen, onChoose }: Props & { layout: Layout; width: number }) {
    const onKeyDown = (event: KeyboardEvent & { currentTarget: SVGSVGElement }) => {
        const step = STEPS[event.key];
        if (!step) return;
        event.preventDefault();
        const index = step(chosen, layout.bars.length - 1);
        onChoose(index);
        event.currentTarget.querySelectorAll<SVGGElement>(".bar")[index]?.focus();
    };
    return (
        <svg width={width} height={layout.height} role="group" aria-label={`${text("timeline")}. ${text("timeline_hint")}`} onKeyDown={onKeyDown}>
            <Ground layout={layout} width={width} />
            <Marks layout={layout} story={story} />
            {layout.bars.map((bar, index) => (
                <OneBar key={index} bar={bar} chosen={index === chosen} onChoose={() => onChoose(index)} />
            ))}
        </svg>
    );
}

/** Lanes with their names, cuts with their lengths, and the axis. */
function Ground({ layout, width }: { layout: Layout; width: number }) {
    const { lanes, cuts, ticks, left, top, axis, height } = layout;
    return (
        <g aria-hidden="true">
            {lanes.map(({ lane, y, height: tall }) => (
                <g key={lane}>
                    <rect class="lane" x={left} y={y} width={Math.max(0, width - left)} height={tall} rx="3" />
                    {left > 0 && (
                        <text class="lane-name" x="0" y={y + tall / 2}>
                            {text(`span_${lane}`)}
                        </text>
                    )}
                </g>
            ))}
            {cuts.map(({ x, width: wide, ms }) => (
                <g key={x}>
                    <rect class="cut" x={x} y={top - 4} width={wide} height={axis - top + 4} />
                    {wide >= duration(ms).length * 6 && (
                        <text class="cut-name" x={x + wide / 2} y={top - 9}>
                            {duration(ms)}
                        </text>
                    )}
                </g>
            ))}
            <line class="axis" x1={left} x2={width} y1={axis} y2={axis} />
            {ticks.map(({ x, at }) => (
                <g key={x}>
                    <line class="tick" x1={x} x2={x} y1={top} y2={axis + 4} />
                    <text x={x} y={height - 4}>
                        {exactTime(at, now.value)}
                    </text>
                </g>
            ))}
        </g>
    );
}

function Marks({ layout, story }: { layout: Layout; story: Story }) {
    return (
        <g>
            {layout.marks.map(({ x, index }) => {
                const mark = story.marks[index];
                if (!mark) return null;
                return (
                    <g key={index} role="img" aria-label={`${text("timeline_mark", { kind: mark.kind, source: mark.source })}, ${exactTime(mark.at, now.value)}`}>
                        <title>{text("timeline_mark", { kind: mark.kind, source: mark.source })}</title>
                        <line class="mark" x1={x} x2={x} y1={layout.top - 4} y2={layout.axis} />
                        <circle class="mark-dot" cx={x} cy={layout.top - 6} r="3.5" />
                    </g>
                );
            })}
        </g>
    );
}

function OneBar({ bar, chosen, onChoose }: { bar: Bar; chosen: boolean; onChoose: () => void }) {
    const { span, x, y, width, height } = bar;
    const words = wordsOf(span);
    const name = span.lane === "pause" ? span.kind : span.detail;
    return (
        <g class={`bar ${span.lane}${chosen ? " chosen" : ""}`} role="img" aria-label={words} tabIndex={chosen ? 0 : -1} onFocus={onChoose} onMouseEnter={onChoose}>
            <rect class={`shape fill-${toneOf(span)}`} x={x} y={y + 1} width={width} height={height - 2} rx="2.5" />
            {width > name.length * 6.6 + 10 && (
                <text x={x + 6} y={y + height / 2 + 0.5}>
                    {name}
                </text>
            )}
        </g>
    );
}

const PAUSES: Record<string, string> = { sleep: "rest", wait: "wait", polling: "wait", retry: "warn", start: "plain" };

function toneOf(span: Span): string {
    if (span.failed) return "bad";
    if (span.lane === "pause") return PAUSES[span.kind] ?? "plain";
    if (span.lane === "stage") return "busy";
    return "good";
}
