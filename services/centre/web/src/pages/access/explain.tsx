import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { read, type Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { query, setQuery } from "../../app/router";
import { session } from "../../app/session";
import { Badge } from "../../parts/badge";
import { Button } from "../../parts/button";
import { Facts } from "../../parts/facts";
import { Field } from "../../parts/field";
import { Page } from "../../parts/page";
import { Panel } from "../../parts/panel";
import { text } from "../../text/access";

type Explanation = Schemas["AccessExplanation"];

export function Explain({ lead, tabs }: { lead: ComponentChildren; tabs: ComponentChildren }) {
    const name = query.value.get("name") ?? "";
    // The directory is asked each time, so only when somebody wants to know.
    const request = read("/v1/access/explain", {}, { name });
    const asked = name === "" ? {} : { request, command: ["access", "explain", name] };
    return (
        <Page title={text("title")} lead={lead} {...asked}>
            {tabs}
            <p class="soft">{text("explain_lead")}</p>
            <Ask name={name} />
            {name !== "" && <Answer name={name} />}
        </Page>
    );
}

function Ask({ name }: { name: string }) {
    const [typed, setTyped] = useState(name);
    useEffect(() => setTyped(name), [name]);
    return (
        <form
            class="row ask"
            role="search"
            onSubmit={(event) => {
                event.preventDefault();
                setQuery({ name: typed.trim() });
            }}
        >
            <Field label={text("explain_name")}>
                {(id) => <input id={id} value={typed} required autocomplete="off" onInput={(event) => setTyped(event.currentTarget.value)} />}
            </Field>
            <Button type="submit" kind="primary">
                {text("explain_act")}
            </Button>
        </form>
    );
}

function Answer({ name }: { name: string }) {
    const explanation = useResource(read("/v1/access/explain", {}, { name }), { every: 0 });
    return (
        <Panel title={text("explained", { name })} resource={explanation}>
            {(found) => <Explained found={found} />}
        </Panel>
    );
}

function Explained({ found }: { found: Explanation }) {
    const isPublic = session.value?.mode === "public";
    return (
        <div class="stack">
            <section>
                <h3>{text("steps")}</h3>
                <ol class="steps">
                    {found.steps.map((step, index) => (
                        <li key={index}>
                            <code>{step.step}</code> {step.result}
                        </li>
                    ))}
                </ol>
            </section>
            <Facts
                facts={[
                    [text("groups"), found.groups.length > 0 ? <Groups groups={found.groups} /> : <span class="faint">{text("no_groups")}</span>],
                    [text("gives"), found.role ? <Badge word={found.role} /> : text(isPublic ? "no_role_public" : "no_role")],
                ]}
            />
        </div>
    );
}

function Groups({ groups }: { groups: readonly string[] }) {
    return (
        <ul class="plain-list">
            {groups.map((group) => (
                <li key={group}>
                    <code>{group}</code>
                </li>
            ))}
        </ul>
    );
}
