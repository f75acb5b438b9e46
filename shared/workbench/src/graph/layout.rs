//! Layout of a picture: states in layers from top to bottom, and ways between them
//! that pass other states by. Knows numbers only; the same numbers give the same places.

mod order;

/// Space between two layers: an arrow and its label.
const LAYER_GAP: f64 = 64.0;
/// Space between two neighbours of a layer.
const GAP: f64 = 36.0;
/// Width kept free for a way that passes a layer.
const LANE: f64 = 18.0;
/// Rounds of moving each state towards its neighbours; more change nothing that can be seen.
const ROUNDS: usize = 24;

/// A point of the picture.
pub(super) type LayoutPoint = (f64, f64);

/// A box of the picture: the middle of its upper edge, and its size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LayoutBox {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The whole picture.
#[derive(Debug)]
pub(super) struct Layout {
    /// Place of each state.
    pub(super) places: Vec<LayoutBox>,
    /// Points that each way passes, from the state it leaves to the one it enters.
    pub(super) lines: Vec<Vec<LayoutPoint>>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Lays out states of these widths, all of one height, and the ways between them. Every state
/// must be reachable from `initial`; a way from a state to itself has no points.
pub(super) fn layout(widths: &[f64], height: f64, ways: &[(usize, usize)], initial: usize) -> Layout {
    let forward = order::without_circles(widths.len(), ways, initial);
    let layers = order::layers(widths.len(), &forward);
    let mut graph = LayoutGraph::new(widths, &forward, layers);
    let columns = order::columns(&graph.above, &graph.below, &graph.layer);
    graph.align(&columns);
    graph.finish(widths, height, ways, &forward)
}

/// States, and behind them the places where a way passes a layer.
struct LayoutGraph {
    layer: Vec<usize>,
    width: Vec<f64>,
    x: Vec<f64>,
    above: Vec<Vec<usize>>,
    below: Vec<Vec<usize>>,
    /// Nodes that each way goes through from top to bottom, including both ends.
    chains: Vec<Vec<usize>>,
}

impl LayoutGraph {
    fn new(widths: &[f64], forward: &[(usize, usize)], layers: Vec<usize>) -> Self {
        let mut graph = Self {
            layer: layers,
            width: widths.to_vec(),
            x: Vec::new(),
            above: vec![Vec::new(); widths.len()],
            below: vec![Vec::new(); widths.len()],
            chains: Vec::with_capacity(forward.len()),
        };
        for (upper, lower) in forward {
            let mut chain = vec![*upper];
            if upper != lower {
                for layer in graph.layer[*upper] + 1..graph.layer[*lower] {
                    chain.push(graph.layer.len());
                    graph.layer.push(layer);
                    graph.width.push(LANE);
                    graph.above.push(Vec::new());
                    graph.below.push(Vec::new());
                }
                chain.push(*lower);
                for pair in chain.windows(2) {
                    graph.below[pair[0]].push(pair[1]);
                    graph.above[pair[1]].push(pair[0]);
                }
            }
            graph.chains.push(chain);
        }
        graph
    }

    /// Gives everything its column: near its neighbours, never nearer to the next than allowed.
    fn align(&mut self, columns: &[Vec<usize>]) {
        self.x = vec![0.0; self.width.len()];
        for layer in columns {
            let mut x = 0.0;
            for at in layer {
                self.x[*at] = x + self.width[*at] / 2.0;
                x += self.width[*at] + GAP;
            }
        }
        for round in 0..ROUNDS {
            for turn in 0..columns.len() {
                let down = round % 2 == 0;
                let layer = &columns[if down { turn } else { columns.len() - 1 - turn }];
                let wished: Vec<f64> = layer.iter().map(|at| self.wished(*at, down)).collect();
                self.settle(layer, &wished);
            }
        }
    }

    /// The middle of the neighbours on one side, or where it is.
    fn wished(&self, at: usize, down: bool) -> f64 {
        let near = if down { &self.above[at] } else { &self.below[at] };
        if near.is_empty() {
            return self.x[at];
        }
        near.iter().map(|other| self.x[*other]).sum::<f64>() / near.len() as f64
    }

    /// Places a layer: the middle between pushing everything to the right and pushing it to the left keeps all
    /// distances, and gives both sides the same share.
    fn settle(&mut self, layer: &[usize], wished: &[f64]) {
        let apart = |left: usize, right: usize| {
            let gap = if self.is_lane(left) || self.is_lane(right) { GAP / 2.0 } else { GAP };
            (self.width[left] + self.width[right]) / 2.0 + gap
        };
        let mut right = wished.to_vec();
        for at in 1..layer.len() {
            right[at] = right[at].max(right[at - 1] + apart(layer[at - 1], layer[at]));
        }
        let mut left = wished.to_vec();
        for at in (1..layer.len()).rev() {
            left[at - 1] = left[at - 1].min(left[at] - apart(layer[at - 1], layer[at]));
        }
        for (at, node) in layer.iter().enumerate() {
            self.x[*node] = f64::midpoint(right[at], left[at]);
        }
    }

    fn is_lane(&self, at: usize) -> bool {
        self.width[at] <= LANE
    }

    fn finish(
        self,
        widths: &[f64],
        height: f64,
        ways: &[(usize, usize)],
        forward: &[(usize, usize)],
    ) -> Layout {
        let left = (0..self.x.len()).map(|at| self.x[at] - self.width[at] / 2.0).fold(f64::MAX, f64::min);
        let right = (0..self.x.len()).map(|at| self.x[at] + self.width[at] / 2.0).fold(0.0, f64::max);
        let top = |at: usize| self.layer[at] as f64 * (height + LAYER_GAP);
        let place = |at: usize| LayoutBox { x: self.x[at] - left, y: top(at), width: widths[at], height };
        let places: Vec<LayoutBox> = (0..widths.len()).map(place).collect();
        let layers = self.layer.iter().max().map_or(1, |last| last + 1) as f64;
        let lines = self.chains.iter().enumerate().map(|(number, chain)| {
            let mut points = self.line(number, chain, height, left);
            if ways[number] != forward[number] {
                points.reverse();
            }
            points
        });
        Layout {
            lines: lines.collect(),
            places,
            width: (right - left).max(0.0),
            height: layers * (height + LAYER_GAP) - LAYER_GAP,
        }
    }

    /// The points of a way from top to bottom; it enters and leaves a state beside its neighbours.
    fn line(&self, number: usize, chain: &[usize], height: f64, left: f64) -> Vec<LayoutPoint> {
        let (Some(first), Some(last)) = (chain.first(), chain.last()) else {
            return Vec::new();
        };
        if chain.len() < 2 {
            return Vec::new();
        }
        let top = |at: usize| self.layer[at] as f64 * (height + LAYER_GAP);
        let mut points = vec![(self.port(number, *first, true) - left, top(*first) + height)];
        for at in &chain[1..chain.len() - 1] {
            points.push((self.x[*at] - left, top(*at)));
            points.push((self.x[*at] - left, top(*at) + height));
        }
        points.push((self.port(number, *last, false) - left, top(*last)));
        points
    }

    /// Returns where a way touches a state: the ways of one side share it from left to right.
    fn port(&self, number: usize, state: usize, below: bool) -> f64 {
        let end = |chain: &Vec<usize>| {
            let (own, next) = match (below, chain.as_slice()) {
                (true, [own, next, ..]) | (false, [.., next, own]) => (*own, *next),
                _ => return None,
            };
            (own == state).then_some(self.x[next])
        };
        let mut touching: Vec<(f64, usize)> = Vec::new();
        for (at, chain) in self.chains.iter().enumerate() {
            touching.extend(end(chain).map(|x| (x, at)));
        }
        touching.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let at = touching.iter().position(|(_, at)| *at == number).unwrap_or(0);
        let share = self.width[state] * 0.8 / touching.len().max(1) as f64;
        self.x[state] + share * (at as f64 - (touching.len() as f64 - 1.0) / 2.0)
    }
}
