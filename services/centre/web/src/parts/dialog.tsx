// A window over the page that is answered before anything else; and the one for actions, which asks for a reason.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { json, type ApiRequest } from "../api/client";
import { announce } from "../app/announce";
import { common } from "../text/common";
import { reasonText } from "../text/reason";
import { Button } from "./button";
import { Field } from "./field";

interface Props {
    title: string;
    onClose: () => void;
    wide?: boolean;
    children: ComponentChildren;
}

export function Dialog({ title, onClose, wide, children }: Props) {
    const dialog = useRef<HTMLDialogElement>(null);
    const close = useRef(onClose);
    close.current = onClose;
    // At once, so that a window which follows another finds the focus where that one has put it.
    useLayoutEffect(() => {
        const element = dialog.current;
        const before = document.activeElement as HTMLElement | null;
        element?.showModal();
        return () => {
            // What stands behind an open window takes no focus.
            element?.close();
            before?.focus?.();
        };
    }, []);
    return (
        <dialog
            ref={dialog}
            class={wide ? "wide" : ""}
            aria-label={title}
            onCancel={(event) => {
                event.preventDefault();
                close.current();
            }}
        >
            <header class="dialog-head">
                <h2>{title}</h2>
                <Button kind="quiet" label={common("close")} onClick={onClose}>
                    ×
                </Button>
            </header>
            {children}
        </dialog>
    );
}

interface ActionProps<T> {
    title: string;
    /** What will happen, before it does. */
    children?: ComponentChildren;
    /** Name of the button. */
    act: string;
    danger?: boolean;
    /** Whether the action takes a reason, and may be done without one. */
    reason?: "none" | "optional" | "required";
    disabled?: boolean;
    /** The request of the action, or several that are sent in order. */
    request: (reason: string) => ApiRequest | ApiRequest[];
    onDone: (answer: T) => void;
    onClose: () => void;
}

/** A window that says what will happen, takes a reason, and sends the request. A refusal is shown where it was typed. */
export function ActionDialog<T>({ title, children, act, danger, reason = "optional", disabled, request, onDone, onClose }: ActionProps<T>) {
    const [text, setText] = useState("");
    const [busy, setBusy] = useState(false);
    const [failure, setFailure] = useState<string>();
    const submit = async (event: Event) => {
        event.preventDefault();
        setBusy(true);
        setFailure(undefined);
        try {
            let answer: unknown;
            for (const one of [request(text)].flat()) answer = await json(one);
            announce(common("done"));
            onDone(answer as T);
        } catch (error) {
            setFailure(reasonText(error));
        } finally {
            setBusy(false);
        }
    };
    return (
        <Dialog title={title} onClose={onClose}>
            <form onSubmit={(event) => void submit(event)}>
                <div class="dialog-body">
                    {children}
                    {reason !== "none" && (
                        <Field label={common("reason")} hint={common("reason_hint")}>
                            {(id) => (
                                <input
                                    id={id}
                                    value={text}
                                    required={reason === "required"}
                                    maxLength={500}
                                    onInput={(event) => setText(event.currentTarget.value)}
                                />
                            )}
                        </Field>
                    )}
                    {failure && (
                        <p class="problem" role="alert">
                            {failure}
                        </p>
                    )}
                </div>
                <footer class="dialog-foot">
                    <Button onClick={onClose}>{common("cancel")}</Button>
                    <Button type="submit" kind={danger ? "danger" : "primary"} busy={busy} disabled={disabled ?? false}>
                        {busy ? common("working") : act}
                    </Button>
                </footer>
            </form>
        </Dialog>
    );
}
