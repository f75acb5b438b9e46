// The steps of an order with each operation as one line, which opens to what is inside it. No DOM.

import type { Schemas } from "../../api/client";

export type Step = Schemas["StepView"];

/** A line of the list. `depth`: number of operations around it. */
export type StepLine =
    | { readonly kind: "step"; readonly depth: number; readonly step: Step }
    | { readonly kind: "operation"; readonly depth: number; readonly key: string; readonly name: string; readonly steps: readonly Step[] };

const namesOf = (step: Step) => step.operation?.split("/") ?? [];

/** Lines of steps that follow each other; only the open operations show their own. */
export function linesOf(steps: readonly Step[], open: ReadonlySet<string>, depth = 0): StepLine[] {
    const lines: StepLine[] = [];
    for (let at = 0; at < steps.length; ) {
        const step = steps[at] as Step;
        const name = namesOf(step)[depth];
        if (name === undefined) {
            lines.push({ kind: "step", depth, step });
            at += 1;
            continue;
        }
        const end = endOf(steps, at, depth);
        const inside = steps.slice(at, end);
        const key = `${depth} ${step.number}`;
        lines.push({ kind: "operation", depth, key, name, steps: inside });
        if (open.has(key)) lines.push(...linesOf(inside, open, depth + 1));
        at = end;
    }
    return lines;
}

/** Index behind the steps of the run of an operation that begins at one. */
function endOf(steps: readonly Step[], begin: number, depth: number): number {
    let end = begin + 1;
    while (end < steps.length && isSameRun(steps[end - 1] as Step, steps[end] as Step, depth)) end += 1;
    return end;
}

function isSameRun(before: Step, step: Step, depth: number): boolean {
    const [names, others] = [namesOf(before), namesOf(step)];
    for (let at = 0; at <= depth; at += 1) if (names[at] !== others[at]) return false;
    // In one hand-out nothing goes back but a new visit; a later one may repeat from a savepoint.
    const isBack = step.handOut === before.handOut && step.action < before.action;
    return step.life === before.life && step.state === before.state && !isBack;
}

/** A run of an operation as if it were one step: it begins with its first, and ends as its last. */
export function operationTotals(steps: readonly Step[]): Step {
    const [first, last] = [steps[0] as Step, steps.at(-1) as Step];
    const sum = (value: (step: Step) => number | null | undefined) => steps.reduce((all, step) => all + (value(step) ?? 0), 0);
    return { ...last, at: first.at, durationMs: sum((step) => step.durationMs), bytes: sum((step) => step.bytes) };
}

export function keyOf(line: StepLine): string {
    return line.kind === "step" ? `step ${line.step.number}` : `operation ${line.key}`;
}
