// When an order that waits will start, with the record of such forecasts.

import type { Schemas } from "../api/client";
import { now } from "../app/clock";
import { shortTime } from "../app/time";
import { common as text } from "../text/common";

export function Eta({ eta }: { eta: Schemas["EtaView"] }) {
    const { p50, p90, record } = eta;
    const time = (at: string) => shortTime(at, now.value);
    return (
        <p class="soft">
            {text("eta", { p50: time(p50), p90: time(p90) })}
            {record && ` ${text("eta_record", { held: record.held, forecasts: record.forecasts })}`}
        </p>
    );
}
