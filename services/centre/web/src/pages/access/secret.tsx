import { useState } from "preact/hooks";
import type { Schemas } from "../../api/client";
import { Button } from "../../parts/button";
import { copy } from "../../parts/copy";
import { Dialog } from "../../parts/dialog";
import { text } from "../../text/access";
import { common } from "../../text/common";

/** A new token, shown this once. It takes two steps to close the window before the token was copied. */
export function Secret({ made, onClose }: { made: Schemas["IssuedTokenView"]; onClose: () => void }) {
    const [copied, setCopied] = useState(false);
    const [warned, setWarned] = useState(false);
    const close = () => (copied || warned ? onClose() : setWarned(true));
    return (
        <Dialog title={text("secret")} onClose={close}>
            <div class="dialog-body secret stack">
                <p class="note">{text("secret_once")}</p>
                <p>{text("secret_name", { name: made.name })}</p>
                <div class="row">
                    <code class="secret-text">{made.token}</code>
                    <Button kind="primary" onClick={() => void copy(made.token).then(() => setCopied(true))}>
                        <span aria-live="polite">{common(copied ? "copied" : "copy")}</span>
                    </Button>
                </div>
                <p>{text("secret_care", { role: made.role })}</p>
                {warned && !copied && (
                    <p class="problem" role="alert">
                        {text("secret_unsaved")}
                    </p>
                )}
            </div>
            <footer class="dialog-foot">
                <Button onClick={onClose}>{text("secret_done")}</Button>
            </footer>
        </Dialog>
    );
}
