// An editor of YAML. Its library is a module of its own, loaded with the first editor.

import { useEffect, useRef, useState } from "preact/hooks";
import { editor as text } from "../text/editor";
import "../style/workbench.css";

/** A remark at a place of the text. Lines and columns count from 1, columns in UTF-16 units. */
export interface Remark {
    readonly line: number;
    readonly column: number;
    readonly message: string;
    readonly severity: "error" | "warning";
}

export interface Place {
    readonly line: number;
    readonly column: number;
}

export interface Completion {
    readonly label: string;
    readonly kind?: string | null;
    readonly detail?: string | null;
    readonly insert: string;
}

export interface Completions {
    readonly from: Place;
    readonly items: readonly Completion[];
}

/** What a page asks of a standing editor. */
export interface EditorHandle {
    /** Puts the cursor at a place, in sight, with the focus. */
    jump(to: Place): void;
    /** Takes another text in place of the present one. */
    replace(value: string): void;
    remark(remarks: readonly Remark[]): void;
    close(): void;
}

export interface EditorSettings {
    readonly label: string;
    readonly value: string;
    readonly readOnly: boolean;
    readonly onChange: (value: string) => void;
    readonly complete: (value: string, at: Place) => Promise<Completions | undefined>;
    readonly onRun: () => void;
}

interface Props {
    label: string;
    /** The text to begin with; that of a read-only editor may change. One that is written in is changed by its handle. */
    value: string;
    readOnly?: boolean;
    remarks?: readonly Remark[];
    onChange?: (value: string) => void;
    complete?: (value: string, at: Place) => Promise<Completions | undefined>;
    /** Ctrl+Enter. */
    onRun?: () => void;
    handle?: { current: EditorHandle | undefined };
}

export function Editor(props: Props) {
    const host = useRef<HTMLDivElement>(null);
    const own = useRef<EditorHandle | undefined>(undefined);
    const latest = useRef(props);
    latest.current = props;
    const [state, setState] = useState<"loading" | "ready" | "failed">("loading");
    useEffect(() => {
        let ended = false;
        const open = async () => {
            const { openEditor } = await import("./editor-view");
            if (ended || !host.current) return;
            own.current = openEditor(host.current, {
                label: latest.current.label,
                value: latest.current.value,
                readOnly: latest.current.readOnly ?? false,
                onChange: (value) => latest.current.onChange?.(value),
                complete: async (value, at) => latest.current.complete?.(value, at),
                onRun: () => latest.current.onRun?.(),
            });
            if (latest.current.handle) latest.current.handle.current = own.current;
            setState("ready");
        };
        open().catch(() => setState("failed"));
        return () => {
            ended = true;
            own.current?.close();
            own.current = undefined;
        };
    }, []);
    useEffect(() => {
        if (props.readOnly) own.current?.replace(props.value);
    }, [props.value, props.readOnly]);
    useEffect(() => own.current?.remark(props.remarks ?? []), [props.remarks, state]);
    return (
        <div class="editor">
            {state === "loading" && <p class="faint">{text("loading")}</p>}
            {state === "failed" && (
                <p class="problem" role="alert">
                    {text("failed")}
                </p>
            )}
            <div ref={host} class="editor-host" />
            {state === "ready" && <p class="hint">{text(props.readOnly ? "keys_reading" : "keys")}</p>}
        </div>
    );
}
