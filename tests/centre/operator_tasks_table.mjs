// Thirty tasks of an operator, in their words, with the way to each from the overview. It is the table of
// docs/guides/control-centre.md, which `ui_5_the_guide_has_the_thirty_tasks` of operator_tasks.mjs holds against it.

/**
 * A step: what is typed or pressed, and how the guide says it. Names in braces stand for the data of the test; one in slashes is a
 * pattern. `go` is typed after `Ctrl K`, `ask` into the search of the orders; links and buttons are pressed.
 */
const step = (kind) => (name, said) => ({ kind, name, said });
const [go, ask, link, button] = [step("go"), step("ask"), step("link"), step("button")];

/** What is seen at the end: something of a role and a name, and a text within it. */
const sees = (role, name, text) => ({ role, name, text });

export const TASKS = [
    { goal: "find", task: "An order", way: [go("{failed}", "its id")], end: sees("heading", "Order {failed}") },
    { goal: "find", task: "The failures of the last hour, by class", way: [link("Errors")], end: sees("row", "/{group}/", "{failures}") },
    { goal: "find", task: "The orders of a business transaction", way: [link("Orders"), ask("transactionId:{deal}", "`transactionId:` and its number")], end: sees("link", "{asked}") },
    { goal: "find", task: "Orders that will miss what their clients were promised", way: [link("Promises")], end: sees("link", "{late}") },
    { goal: "find", task: "Who holds a queue, and who waits behind", way: [go("queue {queue}", "`queue` and its name")], end: sees("region", "Holder", "{holder}") },
    { goal: "find", task: "Which node runs which version", way: [link("Deployment")], end: sees("row", "/{worker}/", "{version}") },
    { goal: "explain", task: "Why an order does not run", way: [go("{held}", "its id")], end: sees("region", "Why is it not running?", "{halted}") },
    { goal: "explain", task: "Why an order failed", way: [go("{failed}", "its id")], end: sees("region", "Error", "answered 500") },
    { goal: "explain", task: "Which flow stands still, since when, and why", way: [link("{halted}", "its name under **In trouble**")], end: sees("region", "Stops that hold it", "the billing host is moved") },
    { goal: "explain", task: "What the engine decided about a system, and why", way: [go("system {system}", "`system` and its name")], end: sees("region", "Decisions", "the vendor asked for it") },
    { goal: "explain", task: "Where the time of an order went", way: [go("{late}", "its id"), link("Ledger")], end: sees("row", "/sleeps by its scenario/") },
    { goal: "explain", task: "Why a message was refused, and what it says", way: [link("/^Refused messages \\d/", "**Refused messages**"), link("/unheard-of/", "the message")], end: sees("region", "Refused message", "unheard-of") },
    { goal: "explain", task: "What is different between two versions of a scenario", way: [go("scenario {bill}", "`scenario` and its name"), link("Differences")], end: sees("region", "Changed lines", "timeout: 7s") },
    { goal: "cure", task: "Restart a failed order", way: [go("{failed}", "its id"), button("Restart")], end: sees("dialog", "/{failed}/") },
    { goal: "cure", task: "Restart all orders of a group of failures", way: [link("Errors"), button("Act on all of {group}", "**Act on all of** the group")], end: sees("dialog", undefined, "{failures} orders would be taken") },
    { goal: "cure", task: "Answer by hand what a system will not answer", way: [go("{asked}", "its id"), link("Answer by hand")], end: sees("button", "Answer by hand") },
    { goal: "cure", task: "Take a queue from its holder", way: [go("queue {queue}", "`queue` and its name"), button("Release…")], end: sees("dialog", "Take {queue} from its holder", "{holder}") },
    { goal: "cure", task: "Stop a flow, and see beforehand what that hits", way: [go("flow {flow}", "`flow` and its name"), button("Stop…")], end: sees("dialog", undefined, "{flow}") },
    { goal: "cure", task: "Let a stopped flow go on", way: [link("{halted}", "its name under **In trouble**"), button("/^Resume/", "**Resume**")], end: sees("dialog", "/Lift stop/") },
    { goal: "cure", task: "Mend a refused message, and send it again", way: [link("/^Refused messages \\d/", "**Refused messages**"), link("/unheard-of/", "the message")], end: sees("button", "Edit and send again…") },
    { goal: "cure", task: "End a maintenance window early", way: [link("Maintenance"), link("{window}", "its number")], end: sees("button", "End now") },
    { goal: "cure", task: "Take a worker out of service", way: [link("Deployment"), button("Take offline: {worker}", "**Take offline** beside it")], end: sees("dialog", "/{worker}/") },
    { goal: "cure", task: "Pause a subscription whose receiver is dead", way: [link("Subscriptions"), button("Pause {subscription}", "**Pause** beside it")], end: sees("dialog", "Pause {subscription}") },
    { goal: "plan", task: "When a schedule runs next", way: [link("Schedules")], end: sees("row", "/{schedule}/", "{next}") },
    { goal: "plan", task: "Plan a maintenance window", way: [link("Maintenance"), button("New window…")], end: sees("dialog", "New maintenance window") },
    { goal: "plan", task: "Move waiting orders to a later time", way: [go("flow {waiting}", "`flow` and its name"), button("Move what waits…")], end: sees("dialog", "Move what waits or retries") },
    { goal: "plan", task: "Move live orders to another version of their scenario", way: [go("scenario {bill}", "`scenario` and its name"), link("Move orders")], end: sees("button", "Look what would move") },
    { goal: "prove", task: "Export the orders of a search", way: [link("fail", "the status **fail**, or another search"), button("Export")], end: sees("button", "As CSV") },
    { goal: "prove", task: "Who stopped a flow last night, and why", way: [go("audit of {halted}", "`audit of` and its name")], end: sees("row", "/stop/", "the billing host is moved") },
    { goal: "prove", task: "That nobody changed the audit log", way: [link("Audit"), button("Verify in this browser")], end: sees("main", undefined, "/hashes of all [\\d,]+ entries hold/") },
];

const SAID = { go: (said) => `\`Ctrl K\` ${said}`, ask: (said) => `search ${said}`, link: (said) => said, button: (said) => said };

/** The rows of the guide. */
export function rows() {
    return TASKS.map(({ goal, task, way }) => `| ${goal} | ${task} | ${way.map(({ kind, name, said }) => SAID[kind](said ?? `**${name}**`)).join(", then ")} |`);
}
