// A search that the server refuses, with what it says would do, and the conditions that would narrow it.

import type { Failure, Schemas } from "../../api/client";
import { orders as text } from "../../text/orders";
import { isCostly, valueOf, withCondition, type Selection } from "./selection";
import { written } from "./words";

interface Props {
    failure: Failure;
    selection: Selection;
    addressOf: (selection: Selection) => string;
}

/** Conditions that narrow any search. */
const NARROWER = [
    ["createdSince", "1d"],
    ["createdSince", "7d"],
    ["status", "fail"],
] as const;

/** Whether it was the search that was refused, and not the server that failed. */
export function isRefusal(failure: Failure | undefined): failure is Failure {
    return failure?.status === 422;
}

export function Refused({ failure, selection, addressOf }: Props) {
    const details = (failure.problem["errors"] ?? []) as Schemas["Detail"][];
    const offers = isCostly(selection) ? NARROWER.filter(([name]) => valueOf(selection, name) === undefined) : [];
    return (
        <div class="problem" role="alert">
            <p>
                <strong>{text("refused")}</strong> {failure.message}
            </p>
            {details.map((detail) => detail.hint && <p key={detail.pointer}>{detail.hint}</p>)}
            {offers.length > 0 && (
                <p class="chips">
                    <span>{text("narrow")}</span>
                    {offers.map(([name, value]) => (
                        <a key={value} class="chip" href={addressOf(withCondition(selection, name, value))}>
                            <code>{written(name, value)}</code>
                        </a>
                    ))}
                </p>
            )}
        </div>
    );
}
