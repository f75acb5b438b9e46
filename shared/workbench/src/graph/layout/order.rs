//! Layer of each state, and its order in it: circles are turned, the longest way gives
//! the layer, and neighbours are sorted so that few ways cross.

/// Rounds of sorting; crossings hardly change after a few.
const ROUNDS: usize = 12;

/// The ways with every circle opened: a way that leads back to where it came from is turned round.
pub(super) fn without_circles(states: usize, ways: &[(usize, usize)], initial: usize) -> Vec<(usize, usize)> {
    let mut outgoing = vec![Vec::new(); states];
    for (number, (from, to)) in ways.iter().enumerate() {
        outgoing[*from].push((number, *to));
    }
    let mut turned = vec![false; ways.len()];
    let mut seen = vec![false; states];
    let mut open = vec![false; states];
    for start in std::iter::once(initial).chain(0..states) {
        if start >= states || seen[start] {
            continue;
        }
        // Each entry is a state on the present way, and which of its ways comes next.
        let mut way = vec![(start, 0)];
        (seen[start], open[start]) = (true, true);
        while let Some((state, next)) = way.last_mut() {
            let Some((number, to)) = outgoing[*state].get(*next).copied() else {
                open[*state] = false;
                way.pop();
                continue;
            };
            *next += 1;
            if open[to] {
                turned[number] = true;
            } else if !seen[to] {
                (seen[to], open[to]) = (true, true);
                way.push((to, 0));
            }
        }
    }
    let direction = |(way, turned): (&(usize, usize), bool)| if turned { (way.1, way.0) } else { *way };
    ways.iter().zip(turned).map(direction).collect()
}

/// The layer of each state: one below the lowest of those that lead to it.
pub(super) fn layers(states: usize, forward: &[(usize, usize)]) -> Vec<usize> {
    let mut layers = vec![0; states];
    // Without circles the longest way has fewer steps than there are states.
    for _ in 0..states {
        let mut moved = false;
        for (upper, lower) in forward.iter().filter(|(upper, lower)| upper != lower) {
            if layers[*lower] <= layers[*upper] {
                layers[*lower] = layers[*upper] + 1;
                moved = true;
            }
        }
        if !moved {
            break;
        }
    }
    layers
}

/// The members of each layer from left to right.
pub(super) fn columns(above: &[Vec<usize>], below: &[Vec<usize>], layer: &[usize]) -> Vec<Vec<usize>> {
    let depth = layer.iter().max().map_or(0, |last| last + 1);
    let mut columns = vec![Vec::new(); depth];
    for (at, layer) in layer.iter().enumerate() {
        columns[*layer].push(at);
    }
    let mut best = (crossings(&columns, below), columns.clone());
    for round in 0..ROUNDS {
        let down = round % 2 == 0;
        for turn in 1..depth {
            let (own, near) = if down { (turn, turn - 1) } else { (depth - 1 - turn, depth - turn) };
            let places = places(&columns[near], layer.len());
            let edges = if down { above } else { below };
            sort_by_neighbours(&mut columns[own], edges, &places);
        }
        let count = crossings(&columns, below);
        if count < best.0 {
            best = (count, columns.clone());
        }
    }
    best.1
}

fn places(column: &[usize], nodes: usize) -> Vec<Option<usize>> {
    let mut places = vec![None; nodes];
    for (place, at) in column.iter().enumerate() {
        places[*at] = Some(place);
    }
    places
}

fn sort_by_neighbours(column: &mut [usize], edges: &[Vec<usize>], places: &[Option<usize>]) {
    let middle = |(own, at): (usize, &usize)| {
        let near: Vec<usize> = edges[*at].iter().filter_map(|other| places[*other]).collect();
        let middle =
            if near.is_empty() { own as f64 } else { near.iter().sum::<usize>() as f64 / near.len() as f64 };
        (middle, *at)
    };
    let mut sorted: Vec<(f64, usize)> = column.iter().enumerate().map(middle).collect();
    // Stable: equals keep their order, so that the result never depends on chance.
    sorted.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (slot, (_, at)) in column.iter_mut().zip(sorted) {
        *slot = at;
    }
}

fn crossings(columns: &[Vec<usize>], below: &[Vec<usize>]) -> usize {
    let nodes = below.len();
    let mut count = 0;
    for pair in columns.windows(2) {
        let places = places(&pair[1], nodes);
        let mut ends: Vec<usize> = Vec::new();
        for at in &pair[0] {
            let own: Vec<usize> = below[*at].iter().filter_map(|to| places[*to]).collect();
            count += own.iter().map(|end| ends.iter().filter(|other| *other > end).count()).sum::<usize>();
            ends.extend(own);
        }
    }
    count
}
