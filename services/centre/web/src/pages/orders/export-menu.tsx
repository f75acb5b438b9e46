// Export of the search as a file, made in the browser page by page, and the command that does the same.

import { useEffect, useRef, useState } from "preact/hooks";
import { asCommand } from "../../api/command";
import { common } from "../../text/common";
import { orders as text } from "../../text/orders";
import { Button } from "../../parts/button";
import { Dialog } from "../../parts/dialog";
import { CopyLine } from "../../parts/page";
import { collected, type Format } from "./export";
import { flagsOf, type Selection } from "./selection";

export function ExportMenu({ selection }: { selection: Selection }) {
    const [open, setOpen] = useState(false);
    return (
        <>
            <Button kind="quiet" onClick={() => setOpen(true)}>
                {text("export")}
            </Button>
            {open && (
                <Dialog title={text("export")} onClose={() => setOpen(false)}>
                    <Content selection={selection} />
                </Dialog>
            )}
        </>
    );
}

type Stand =
    { kind: "idle" } | { kind: "running"; orders: number } | { kind: "done"; orders: number; complete: boolean } | { kind: "failed"; reason: string };

function Content({ selection }: { selection: Selection }) {
    const [stand, setStand] = useState<Stand>({ kind: "idle" });
    const asking = useRef<AbortController | undefined>(undefined);
    useEffect(() => () => asking.current?.abort(), []);
    const run = async (format: Format) => {
        const { signal } = (asking.current = new AbortController());
        let orders = 0;
        setStand({ kind: "running", orders });
        try {
            const { parts, complete } = await collected(selection, format, signal, (soFar) => {
                orders = soFar;
                setStand({ kind: "running", orders });
            });
            keep(parts, format);
            setStand({ kind: "done", orders, complete });
        } catch (error) {
            setStand(signal.aborted ? { kind: "idle" } : { kind: "failed", reason: String((error as Error).message) });
        }
    };
    const flags = flagsOf(selection);
    return (
        <div class="dialog-body export">
            <p class="faint">{text("export_hint")}</p>
            {stand.kind === "running" ? (
                <Button onClick={() => asking.current?.abort()}>{text("export_stop")}</Button>
            ) : (
                <div class="row">
                    <Button onClick={() => void run("csv")}>{text("export_csv")}</Button>
                    <Button onClick={() => void run("ndjson")}>{text("export_json")}</Button>
                </div>
            )}
            <p role="status" class={stand.kind === "failed" ? "bad-text" : ""}>
                {standText(stand)}
            </p>
            {flags && <CopyLine name={common("as_command")} text={asCommand(["order", "list", ...flags, "--all", "--json"])} />}
        </div>
    );
}

function standText(stand: Stand): string {
    if (stand.kind === "running") return text("export_running", { n: stand.orders });
    if (stand.kind === "done") return text(stand.complete ? "export_all" : "export_cut", { n: stand.orders });
    return stand.kind === "failed" ? text("export_failed", { reason: stand.reason }) : "";
}

/** Hands the file to the browser. */
function keep(parts: string[], format: Format): void {
    const url = URL.createObjectURL(new Blob(parts, { type: format === "csv" ? "text/csv" : "application/x-ndjson" }));
    const link = document.createElement("a");
    link.href = url;
    link.download = `orders.${format}`;
    link.click();
    window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
