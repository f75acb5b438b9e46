import { useResource } from "../../api/resource";
import { CopyButton } from "../../parts/copy";
import { Editor } from "../../parts/editor";
import { Panel } from "../../parts/panel";
import { scenarios as text } from "../../text/scenarios";
import { textOf } from "./text-of";

/** The text of a version, to be read. */
export function Source({ name, version }: { name: string; version: number }) {
    const source = useResource(textOf(name, version), { every: 0 });
    return (
        <Panel title={text("source")} resource={source} tools={source.data === undefined ? null : <CopyButton text={source.data} />}>
            {(data) => <Editor label={`${name} ${version}`} value={data} readOnly />}
        </Panel>
    );
}
