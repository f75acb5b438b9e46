// Where the time of many orders went, in a range that stands in the address.

import { read, type Query, type Schemas } from "../api/client";
import { EXAMINED } from "../api/examined";
import { useResource } from "../api/resource";
import { ledger as text } from "../text/ledger";
import { Choice, chosenOf } from "./choice";
import { LedgerShares } from "./ledger-shares";
import { Panel } from "./panel";

type Sums = Schemas["LedgerSumsView"];

/** Orders whose time is summed. */
const SAMPLE = 200;

const RANGES = ["1h", "24h", "7d"] as const;

/** The time of the orders that fulfil these conditions. */
export function LedgerSums({ of }: { of: Query }) {
    const range = chosenOf("range", RANGES, "1h");
    const sums = useResource<Sums>(read("/v1/ledger", {}, { ...of, from: range, examine: EXAMINED, sample: SAMPLE }), { every: 30_000 });
    const options = RANGES.map((value) => ({ value, text: text(`range_${value}`) }));
    return (
        <Panel
            title={text("title")}
            resource={sums}
            tools={<Choice label={text("range")} name="range" chosen={range} usual="1h" options={options} />}
            empty={(data) => data.summed === 0}
            emptyText={text("sums_none")}
        >
            {(data) => (
                <>
                    <p class="faint">
                        {data.summed === data.orders ? text("sums_of", { n: data.orders }) : text("sums_sample", { summed: data.summed, orders: data.orders })}
                        {!data.complete && ` ${text("sums_cut")}`}
                    </p>
                    <LedgerShares ledger={data} />
                </>
            )}
        </Panel>
    );
}
