import type { Schemas } from "../../api/client";
import { useResource } from "../../api/resource";
import { LineDiff } from "../../parts/line-diff-view";
import { Panel } from "../../parts/panel";
import { scenarios as text } from "../../text/scenarios";
import { PairChoice, pairOf } from "./pair";
import { textOf } from "./text-of";

/** What is different between two versions, line by line. */
export function Differences({ name, versions }: { name: string; versions: readonly Schemas["VersionLine"][] }) {
    const pair = pairOf(versions);
    const before = useResource(textOf(name, pair.from), { every: 0 });
    const after = useResource(textOf(name, pair.to), { every: 0 });
    if (versions.length < 2) return <p class="panel nothing">{text("diff_one")}</p>;
    return (
        <div class="stack">
            <PairChoice versions={versions} pair={pair} from={text("diff_from")} to={text("diff_to")} />
            <Panel title={text("diff_label", { from: pair.from, to: pair.to })} resource={before}>
                {(old) => (
                    <Panel resource={after} bare>
                        {(made) => <LineDiff before={old} after={made} />}
                    </Panel>
                )}
            </Panel>
        </div>
    );
}
