// Orders that wait for each other, drawn from left to right; each is a link to its page.

import { to } from "../../app/router";
import { order as text } from "../../text/order";
import type { DependencyGraph } from "./dependencies";
import { placedOrders, type Placed } from "./dependency-layout";

const WIDTH = 190;
const HEIGHT = 48;
const GAP_X = 60;
const GAP_Y = 18;
/** Orders of a picture; the tables have the others. */
const MOST = 60;

const xOf = ({ column }: Placed) => column * (WIDTH + GAP_X) + 2;
const yOf = ({ row }: Placed) => row * (HEIGHT + GAP_Y) + 2;
const cut = (word: string) => (word.length > 24 ? `${word.slice(0, 11)}…${word.slice(-11)}` : word);

export function DependencyPicture({ graph }: { graph: DependencyGraph }) {
    const nodes = graph.nodes.slice(0, MOST);
    const placed = placedOrders(nodes.map((node) => node.id), graph.edges);
    const width = Math.max(...placed.map(xOf)) + WIDTH + 4;
    const height = Math.max(...placed.map(yOf)) + HEIGHT + 4;
    const placeOf = (id: string) => placed.find((one) => one.id === id);
    return (
        <div class="dependencies" role="group" aria-label={text("tab_dependencies")} tabIndex={0}>
            <svg width={width} height={height}>
                {graph.edges.map((edge) => (
                    <Way key={`${edge.order} ${edge.after}`} from={placeOf(edge.after)} to={placeOf(edge.order)} met={edge.stand === "met"} />
                ))}
                {nodes.map((node, index) => {
                    const place = placed[index];
                    if (!place) return null;
                    const [x, y] = [xOf(place), yOf(place)];
                    return (
                        <a key={node.id} href={to("orders", node.id)} aria-current={node.id === graph.id ? "true" : undefined}>
                            <title>{node.id}</title>
                            <rect class={node.id === graph.id ? "box here" : "box"} x={x} y={y} width={WIDTH} height={HEIGHT} rx="8" />
                            <text class="box-name" x={x + 12} y={y + 20}>
                                {cut(node.id)}
                            </text>
                            <text class="box-note" x={x + 12} y={y + 37}>
                                {node.registered ? [node.status, node.step].filter(Boolean).join(" · ") : text("registered_not")}
                            </text>
                        </a>
                    );
                })}
            </svg>
        </div>
    );
}

function Way({ from, to: end, met }: { from: Placed | undefined; to: Placed | undefined; met: boolean }) {
    if (!from || !end) return null;
    const [x1, y1, x2, y2] = [xOf(from) + WIDTH, yOf(from) + HEIGHT / 2, xOf(end), yOf(end) + HEIGHT / 2];
    const bend = Math.max(20, (x2 - x1) / 2);
    return (
        <g class={met ? "dependency met" : "dependency"}>
            <path d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 6} ${y2}`} />
            <path class="tip" d={`M${x2} ${y2}l-8 -4v8z`} />
        </g>
    );
}
