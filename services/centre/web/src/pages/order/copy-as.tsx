// An order as text to take along: its id, a link, a clone by curl or command, its JSON, a test of its scenario.

import { useState } from "preact/hooks";
import { change, json, read } from "../../api/client";
import { asCommand, asCurl } from "../../api/command";
import { to } from "../../app/router";
import { Button } from "../../parts/button";
import { CopyButton } from "../../parts/copy";
import { Dialog } from "../../parts/dialog";
import { Json } from "../../parts/json";
import { CopyLine } from "../../parts/page";
import { Popover } from "../../parts/popover";
import { common } from "../../text/common";
import { order as text } from "../../text/order";
import { asTest } from "./as-test";
import type { Order } from "./permitted";

export function CopyAs({ order }: { order: Order }) {
    const [test, setTest] = useState<string>();
    const [busy, setBusy] = useState(false);
    const [problem, setProblem] = useState<string>();
    const origin = window.location.origin;
    const copyId = `${order.id}-2`;
    const make = async () => {
        setBusy(true);
        setProblem(undefined);
        try {
            const [steps, callbacks] = await Promise.all([json(read("/v1/orders/{id}/steps", { id: order.id })), json(read("/v1/orders/{id}/callbacks", { id: order.id }))]);
            setTest(asTest({ order, steps, callbacks }));
        } catch (error) {
            setProblem((error as Error).message);
        } finally {
            setBusy(false);
        }
    };
    return (
        <>
            <Popover label={text("copy_as")} button={text("copy_as")} wide>
                <div class="copy-as">
                    <CopyLine name={text("copy_as_id")} text={order.id} />
                    <CopyLine name={text("copy_as_link")} text={origin + to("orders", order.id)} />
                    <CopyLine name={text("copy_as_clone")} text={asCurl(change("POST", "/v1/orders/{id}/clone", { id: order.id }, { id: copyId }), origin)} />
                    <CopyLine name={text("copy_as_command")} text={asCommand(["order", "clone", order.id, "--new-id", copyId])} />
                    <p class="faint">{text("clone_note")}</p>
                    <div class="copy-line">
                        <span class="copy-name">{text("copy_as_json")}</span>
                        <span />
                        <CopyButton text={() => JSON.stringify(order, null, 2)} label={`${common("copy")}: ${text("copy_as_json")}`} />
                    </div>
                    <Button small busy={busy} onClick={() => void make()}>
                        {text("copy_as_test_make")}
                    </Button>
                    {problem && (
                        <p class="problem" role="alert">
                            {problem}
                        </p>
                    )}
                </div>
            </Popover>
            {test !== undefined && (
                <Dialog title={text("copy_as_test")} wide onClose={() => setTest(undefined)}>
                    <div class="dialog-body">
                        <p class="faint">{text("copy_as_test_note")}</p>
                        <Json value={test} />
                    </div>
                </Dialog>
            )}
        </>
    );
}
