// The login, which stands over the page: what was typed there stays, and what was refused is sent again.

import { useState } from "preact/hooks";
import { common } from "../text/common";
import { shell } from "../text/shell";
import { reasonText } from "../text/reason";
import { Button } from "../parts/button";
import { Dialog } from "../parts/dialog";
import { Field } from "../parts/field";
import { logIn, loginWanted, session } from "./session";

export function Login() {
    if (!loginWanted.value) return null;
    return (
        <Dialog title={shell("log_in")} onClose={() => undefined}>
            <Form />
        </Dialog>
    );
}

function Form() {
    const [name, setName] = useState("");
    const [password, setPassword] = useState("");
    const [busy, setBusy] = useState(false);
    const [failure, setFailure] = useState<string>();
    const mode = session.value?.mode;
    const submit = async (event: Event) => {
        event.preventDefault();
        setBusy(true);
        setFailure(undefined);
        try {
            await logIn(name, password);
        } catch (error) {
            setFailure(reasonText(error));
        } finally {
            setBusy(false);
        }
    };
    return (
        <form onSubmit={(event) => void submit(event)}>
            <div class="dialog-body">
                {session.value?.name === undefined && mode !== "token" && <p class="faint">{shell("log_in_hint")}</p>}
                {mode === "token" && <p class="faint">{shell("login_token_only")}</p>}
                {mode === "oidc" && (
                    <a class="button primary" href="/v1/session/login">
                        {shell("log_in_provider")}
                    </a>
                )}
                <Field label={shell("login_name")}>
                    {(id) => <input id={id} value={name} autocomplete="username" required onInput={(event) => setName(event.currentTarget.value)} />}
                </Field>
                <Field label={shell("login_password")}>
                    {(id) => (
                        <input
                            id={id}
                            type="password"
                            value={password}
                            autocomplete="current-password"
                            required
                            onInput={(event) => setPassword(event.currentTarget.value)}
                        />
                    )}
                </Field>
                {failure && (
                    <p class="problem" role="alert">
                        {failure}
                    </p>
                )}
            </div>
            <footer class="dialog-foot">
                <Button type="submit" kind="primary" busy={busy}>
                    {busy ? common("working") : shell("log_in")}
                </Button>
            </footer>
        </form>
    );
}
