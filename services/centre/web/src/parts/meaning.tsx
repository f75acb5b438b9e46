import type { Schemas } from "../api/client";
import { language } from "../text";
import { meaning } from "../text/meanings";

type Reason = Schemas["Explanation"]["reason"];
type Check = Schemas["DoctorFinding"]["check"];

/** What a word of the engine means, before a sentence of the engine that is in another language than the page. */
export function Meaning({ of }: { of: { reason: Reason } | { check: Check } }) {
    if (language.value === "en") return null;
    const text = "reason" in of ? meaning(`reason_${of.reason}`) : meaning(`check_${underscored(of.check)}`);
    return text ? <strong>{text}: </strong> : null;
}

type Underscored<W extends string> = W extends `${infer A}.${infer B}` ? `${A}_${B}` : W;

function underscored<W extends string>(word: W): Underscored<W> {
    return word.replace(".", "_") as Underscored<W>;
}
