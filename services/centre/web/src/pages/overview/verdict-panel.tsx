// The verdict over the whole installation. It advises only while it is fresh: an old one says "unknown", and nothing else.

import type { Schemas } from "../../api/client";
import type { Shown } from "../../api/resource";
import { now } from "../../app/clock";
import { duration } from "../../app/time";
import { Badge } from "../../parts/badge";
import { Button } from "../../parts/button";
import { Icon } from "../../parts/icon";
import { Meaning } from "../../parts/meaning";
import { Said } from "../../parts/said";
import { common } from "../../text/common";
import { text } from "../../text/overview";
import { pageOfCheck, verdictOf } from "./verdict";

type Doctor = Schemas["DoctorView"];

const ICONS = { ok: "audit", warning: "errors", error: "errors", unknown: "clock", wait: "clock" } as const;

export function VerdictPanel({ resource }: { resource: Shown<Doctor> }) {
    const verdict = verdictOf(resource.state, resource.data);
    const trusted = verdict === "ok" || verdict === "warning" || verdict === "error";
    return (
        <section class={`verdict ${verdict}`} aria-labelledby="verdict" data-state={resource.state}>
            <header>
                <span class="verdict-icon">
                    <Icon name={ICONS[verdict]} />
                </span>
                <h2 id="verdict">
                    <span role="status">{text(`verdict_${verdict}`)}</span>
                </h2>
                {trusted && resource.data && <Checked doctor={resource.data} at={resource.known.value.at} />}
            </header>
            {trusted ? <Findings findings={resource.data?.findings ?? []} /> : verdict === "unknown" && <Unknown resource={resource} />}
        </section>
    );
}

function Checked({ doctor, at }: { doctor: Doctor; at: number | undefined }) {
    return (
        <span class="faint" title={doctor.checks.join(", ")}>
            {text("check_all", { n: doctor.checks.length })} · {text("age_of_verdict", { age: duration(Math.max(0, now.value - (at ?? now.value))) })}
        </span>
    );
}

function Unknown({ resource }: { resource: Shown<Doctor> }) {
    return (
        <div class="row">
            <p>{text("verdict_unknown_why")}</p>
            <Button small onClick={() => void resource.refresh()}>
                {common("retry")}
            </Button>
        </div>
    );
}

function Findings({ findings }: { findings: Doctor["findings"] }) {
    if (findings.length === 0) return null;
    return (
        <ul class="findings">
            {findings.map((finding) => (
                <Finding key={finding.check + finding.message} finding={finding} />
            ))}
        </ul>
    );
}

function Finding({ finding }: { finding: Doctor["findings"][number] }) {
    const page = pageOfCheck(finding.check);
    return (
        <li>
            <Badge word={finding.severity} />
            <div class="finding">
                <p>
                    <Meaning of={finding} />
                    <Said text={finding.message} />
                </p>
                <p class="soft">
                    <Said text={finding.remedy} />
                </p>
            </div>
            {page && (
                <a class="button small" href={page} aria-label={`${text("finding_look")}: ${finding.check}`}>
                    {text("finding_look")}
                </a>
            )}
        </li>
    );
}

