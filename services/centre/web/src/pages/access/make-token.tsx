import { useState } from "preact/hooks";
import { change, type Schemas } from "../../api/client";
import { ActionDialog } from "../../parts/dialog";
import { Field } from "../../parts/field";
import { text } from "../../text/access";
import { endOf, ROLES, tenantsOf, VALIDITIES, type Role, type Validity } from "./token";

interface Props {
    onDone: (made: Schemas["IssuedTokenView"]) => void;
    onClose: () => void;
}

export function MakeToken({ onDone, onClose }: Props) {
    const [name, setName] = useState("");
    const [role, setRole] = useState<Role>("client");
    const [validity, setValidity] = useState<Validity>("days_90");
    const [tenants, setTenants] = useState("");
    const request = (reason: string) =>
        change("POST", "/v1/access/tokens", {}, { name: name.trim(), role, tenants: tenantsOf(tenants), endsAt: endOf(validity, Date.now()), reason });
    return (
        <ActionDialog title={text("make")} act={text("make_act")} disabled={name.trim() === ""} request={request} onDone={onDone} onClose={onClose}>
            <Field label={text("program")} hint={text("program_hint")}>
                {(id) => <input id={id} value={name} required autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} />}
            </Field>
            <Field label={text("role")} hint={text(`role_${role}`)}>
                {(id) => (
                    <select id={id} value={role} onChange={(event) => setRole(event.currentTarget.value as Role)}>
                        {ROLES.map((one) => (
                            <option key={one} value={one}>
                                {one}
                            </option>
                        ))}
                    </select>
                )}
            </Field>
            <Field label={text("tenants")} hint={text("tenants_hint")}>
                {(id) => <input id={id} value={tenants} autocomplete="off" spellcheck={false} onInput={(event) => setTenants(event.currentTarget.value)} />}
            </Field>
            <Field label={text("validity")}>
                {(id) => (
                    <select id={id} value={validity} onChange={(event) => setValidity(event.currentTarget.value as Validity)}>
                        {VALIDITIES.map((one) => (
                            <option key={one} value={one}>
                                {text(one)}
                            </option>
                        ))}
                    </select>
                )}
            </Field>
        </ActionDialog>
    );
}
