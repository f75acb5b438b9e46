// Buttons that pause, resume, abort and repeat an operation.

import { useState } from "preact/hooks";
import { change } from "../../api/client";
import { operations as text } from "../../text/operations";
import { Button } from "../../parts/button";
import { ActionDialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { BulkDialog } from "../orders/bulk-dialog";
import type { Action } from "../orders/bulk";
import { isOver, passed, type Operation } from "./view";

const STEPS = {
    pause: { path: "/v1/operations/{no}/pause", act: "pause", what: "pause_what", danger: false },
    resume: { path: "/v1/operations/{no}/resume", act: "resume", what: "resume_what", danger: false },
    abort: { path: "/v1/operations/{no}/abort", act: "abort", what: "abort_what", danger: true },
} as const;

type Step = keyof typeof STEPS;

export function Steering({ operation, onDone }: { operation: Operation; onDone: () => void }) {
    const [asked, setAsked] = useState<Step | "again">();
    const close = () => setAsked(undefined);
    const hasFailed = operation.failed > 0 || (operation.aftermath?.failedAgain ?? 0) + (operation.aftermath?.failedOtherwise ?? 0) > 0;
    return (
        <>
            {operation.state === "running" && (
                <Button needs="operator" onClick={() => setAsked("pause")}>
                    <Icon name="pause" />
                    {text("pause")}
                </Button>
            )}
            {operation.state === "paused" && (
                <Button needs="operator" kind="primary" onClick={() => setAsked("resume")}>
                    <Icon name="play" />
                    {text("resume")}
                </Button>
            )}
            {!isOver(operation) && (
                <Button needs="operator" onClick={() => setAsked("abort")}>
                    {text("abort")}
                </Button>
            )}
            {isOver(operation) && hasFailed && (
                <Button needs="operator" onClick={() => setAsked("again")}>
                    <Icon name="refresh" />
                    {text("again")}
                </Button>
            )}
            {asked && asked !== "again" && <StepDialog step={asked} operation={operation} onDone={onDone} onClose={close} />}
            {asked === "again" && (
                <BulkDialog
                    title={text("again_title", { no: operation.no })}
                    orders={{ again: operation.no }}
                    begin={{ action: operation.action as Action, more: JSON.stringify(operation.with ?? {}) }}
                    onClose={close}
                />
            )}
        </>
    );
}

interface StepProps {
    step: Step;
    operation: Operation;
    onDone: () => void;
    onClose: () => void;
}

function StepDialog({ step, operation, onDone, onClose }: StepProps) {
    const { path, act, what, danger } = STEPS[step];
    return (
        <ActionDialog
            title={`${text("title_one", { no: operation.no })}: ${text(act)}`}
            act={text(act)}
            danger={danger}
            request={(reason) => change("POST", path, { no: operation.no }, reason.trim() ? { reason } : {})}
            onDone={() => {
                onClose();
                onDone();
            }}
            onClose={onClose}
        >
            <p>{text(what, { n: operation.total - passed(operation) })}</p>
        </ActionDialog>
    );
}
