// The graph of a workflow, as the engine draws it: its picture is taken into the page, so that style sheets reach it and its
// states can be marked and clicked.

import { useEffect, useRef, useState } from "preact/hooks";
import { read, send, type ApiRequest } from "../api/client";
import { to } from "../app/router";
import { common } from "../text/common";
import { reasonText } from "../text/reason";
import { insideOf, type InsideOperation } from "./graph-operations";
import { useOpen } from "./open";
import "../style/graph.css";

interface Props {
    label: string;
    request: ApiRequest;
    /** Classes that a state gets: `present`, `passed`, `failed`. */
    states?: ReadonlyMap<string, string>;
    /** Class of the states that have none of their own, such as `missed`. */
    others?: string;
    /** Figures that stand at a state, such as the number of its orders. */
    figures?: ReadonlyMap<string, string>;
    /** Transitions that were taken, as `from event to`. */
    taken?: ReadonlySet<string>;
    /** Transitions that are reached at all; the others are marked as missed. */
    reachedWays?: ReadonlySet<string> | undefined;
    onState?: (state: string) => void;
}

export function Graph(props: Props) {
    const [picture, setPicture] = useState<string>();
    const [failure, setFailure] = useState<string>();
    const [inside, setInside] = useState<readonly InsideOperation[]>([]);
    const [open, turn] = useOpen();
    const box = useRef<HTMLDivElement>(null);
    const key = JSON.stringify(props.request);
    useEffect(() => {
        const asking = new AbortController();
        setFailure(undefined);
        send(JSON.parse(key) as ApiRequest, asking.signal)
            .then((answer) => answer.text())
            .then(setPicture)
            .catch((error: unknown) => {
                if (!asking.signal.aborted) setFailure(reasonText(error));
            });
        return () => asking.abort();
    }, [key]);
    useEffect(() => {
        if (!box.current || !picture) return;
        show(box.current, picture);
        setInside(insideOf([...box.current.querySelectorAll<SVGGElement>("g[data-operations]")].map((group) => group.dataset)));
    }, [picture, failure]);
    useEffect(() => {
        if (!box.current || !picture) return;
        mark(box.current, props);
        for (const word of box.current.querySelectorAll<SVGElement>("[data-operation]")) {
            const key = word.dataset["operation"] ?? "";
            word.onclick = (event) => {
                event.stopPropagation();
                turn(key);
            };
        }
    });
    if (failure)
        return (
            <p class="problem" role="alert">
                {common("failed")} {failure}
            </p>
        );
    return (
        <>
            <div class="graph" ref={box} role="group" aria-label={props.label} tabIndex={0} />
            {inside.length > 0 && <Operations inside={inside} open={open} turn={turn} />}
        </>
    );
}

interface OperationsProps {
    inside: readonly InsideOperation[];
    open: ReadonlySet<string>;
    turn: (key: string, wish: boolean) => void;
}

/** The operations that run inside states: each opens to its own graph, as a click on its word in the picture does. */
function Operations({ inside, open, turn }: OperationsProps) {
    return (
        <div class="graph-operations" role="group" aria-label={common("operations_inside")}>
            {inside.map(({ key, name, version, states }) => {
                const [title, query] = version === undefined ? [name, ""] : [common("operation_named", { name, version }), `?version=${version}`];
                return (
                    <details key={key} class="disclosure" open={open.has(key)} onToggle={(event) => turn(key, event.currentTarget.open)}>
                        <summary>
                            <code>{`do ${name}`}</code> <span class="soft">{common("operation_in", { states: states.join(", ") })}</span>
                        </summary>
                        {open.has(key) && (
                            <>
                                <a href={to("scenarios", name) + query}>{title}</a>
                                <Graph label={title} request={read("/v1/scenarios/{name}/graph", { name }, { version, format: "svg" })} />
                            </>
                        )}
                    </details>
                );
            })}
        </div>
    );
}

/** Takes a picture into an element. Its own style sheet is left out: that of the page knows the themes. */
function show(element: HTMLElement, picture: string): void {
    // A style sheet is taken out before it is parsed: the content security policy reports it even where it is never shown.
    const plain = picture.replace(/<style[^>]*>[\s\S]*?<\/style>/g, "");
    const parsed = new DOMParser().parseFromString(plain, "image/svg+xml").documentElement;
    for (const unwanted of parsed.querySelectorAll("style, script, foreignObject")) unwanted.remove();
    element.replaceChildren(document.importNode(parsed, true));
}

const SVG = "http://www.w3.org/2000/svg";

function mark(element: HTMLElement, { states, others, figures, taken, reachedWays, onState }: Props): void {
    // What can be chosen is no part of a picture: readers pass over everything in one.
    if (onState) element.querySelector("svg")?.setAttribute("role", "group");
    for (const group of element.querySelectorAll<SVGGElement>("g[data-state]")) {
        const name = group.dataset["state"] ?? "";
        group.setAttribute("class", `node ${states?.get(name) ?? others ?? ""}`);
        setFigure(group, figures?.get(name));
        if (!onState) continue;
        group.setAttribute("role", "button");
        describe(group);
        group.setAttribute("tabindex", "0");
        group.onclick = () => onState(name);
        group.onkeydown = (event) => {
            if (event.key !== "Enter" && event.key !== " ") return;
            event.preventDefault();
            onState(name);
        };
    }
    for (const way of element.querySelectorAll<SVGGElement>("g[data-events]")) {
        const { from, to, events } = way.dataset;
        const isIn = (ways?: ReadonlySet<string>) => (events ?? "").split(" ").some((event) => ways?.has(`${from} ${event} ${to}`) ?? false);
        way.classList.toggle("taken", isIn(taken));
        way.classList.toggle("missed", reachedWays !== undefined && !isIn(reachedWays));
    }
}

/** Makes the title of a state its description: as a name, it would differ from what is seen, which people say to choose it. */
function describe(group: SVGGElement): void {
    const title = group.querySelector("title");
    if (!title) return;
    group.setAttribute("aria-description", title.textContent ?? "");
    title.remove();
}

function setFigure(group: SVGGElement, figure: string | undefined): void {
    group.querySelector(".figure-of-state")?.remove();
    const box = group.querySelector<SVGGraphicsElement>(".state")?.getBBox();
    if (!figure || !box) return;
    const text = document.createElementNS(SVG, "text");
    text.setAttribute("class", "figure-of-state");
    text.setAttribute("x", String(box.x + box.width - 2));
    text.setAttribute("y", String(box.y - 4));
    text.textContent = figure;
    group.append(text);
}
