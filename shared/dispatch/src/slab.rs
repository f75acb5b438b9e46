//! A store of equal things by small numbers: grows by chunks, so that a million entries are never
//! copied nor held twice, and reuses what was freed. Must never know what it stores.

use std::ops::{Index, IndexMut};

/// Entries of a chunk; one chunk is the most that lies unused at the end.
const CHUNK: usize = 1024;

/// Things by number. A number stays valid until its thing is removed, then it is used again.
#[derive(Debug)]
pub(super) struct Slab<T> {
    chunks: Vec<Vec<Option<T>>>,
    free: Vec<u32>,
    length: usize,
}

impl<T> Slab<T> {
    /// An empty store.
    pub(super) const fn new() -> Self {
        Self { chunks: Vec::new(), free: Vec::new(), length: 0 }
    }

    /// Returns the number of things.
    pub(super) const fn len(&self) -> usize {
        self.length
    }

    /// Returns one past the greatest number ever given.
    pub(super) fn end(&self) -> u32 {
        let last = self.chunks.last().map_or(0, Vec::len);
        number(self.chunks.len().saturating_sub(1) * CHUNK + last)
    }

    /// Stores a thing and says under which number.
    pub(super) fn insert(&mut self, thing: T) -> u32 {
        self.length += 1;
        if let Some(index) = self.free.pop() {
            self.chunks[index as usize / CHUNK][index as usize % CHUNK] = Some(thing);
            return index;
        }
        let index = self.end();
        if index as usize == self.chunks.len() * CHUNK {
            self.chunks.push(Vec::with_capacity(CHUNK));
        }
        self.chunks[index as usize / CHUNK].push(Some(thing));
        index
    }

    /// Takes a thing out, if it is there.
    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let cell = self.chunks.get_mut(index as usize / CHUNK)?.get_mut(index as usize % CHUNK)?;
        let thing = cell.take()?;
        self.free.push(index);
        self.length -= 1;
        Some(thing)
    }

    /// The thing of this number, if it is there.
    pub(super) fn get(&self, index: u32) -> Option<&T> {
        self.chunks.get(index as usize / CHUNK)?.get(index as usize % CHUNK)?.as_ref()
    }

    /// The thing of this number, if it is there.
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.chunks.get_mut(index as usize / CHUNK)?.get_mut(index as usize % CHUNK)?.as_mut()
    }

    /// Every thing with its number, by number.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.chunks
            .iter()
            .flatten()
            .enumerate()
            .filter_map(|(index, cell)| cell.as_ref().map(|thing| (number(index), thing)))
    }

    /// Every thing with its number, by number.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        self.chunks
            .iter_mut()
            .flatten()
            .enumerate()
            .filter_map(|(index, cell)| cell.as_mut().map(|thing| (number(index), thing)))
    }

    /// Bytes held, without what the things themselves point to.
    pub(super) fn bytes(&self) -> usize {
        self.chunks.len() * CHUNK * size_of::<Option<T>>()
            + self.chunks.capacity() * size_of::<Vec<T>>()
            + self.free.capacity() * size_of::<u32>()
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;

    fn index(&self, index: u32) -> &T {
        match self.get(index) {
            Some(thing) => thing,
            None => unreachable!("number {index} was freed while something still refers to it"),
        }
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, index: u32) -> &mut T {
        match self.get_mut(index) {
            Some(thing) => thing,
            None => unreachable!("number {index} was freed while something still refers to it"),
        }
    }
}

/// The number of the entry at this place. Memory ends before four thousand million entries do;
/// the last few numbers stay free, because lists use them as marks.
fn number(place: usize) -> u32 {
    match u32::try_from(place) {
        Ok(number) if number < u32::MAX - 1 => number,
        _ => unreachable!("more entries than numbers"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dsp_13_numbers_are_used_again_and_chunks_follow_each_other() {
        let mut slab = Slab::new();
        let numbers: Vec<u32> = (0..3000).map(|thing| slab.insert(thing)).collect();
        assert_eq!(numbers, (0..3000).collect::<Vec<u32>>());
        assert_eq!(slab.remove(1500), Some(1500));
        assert_eq!(slab.remove(1500), None);
        assert_eq!((slab.len(), slab.get(1500)), (2999, None));
        assert_eq!(slab.insert(7), 1500);
        assert_eq!((slab[1500], slab[2999], slab.end()), (7, 2999, 3000));
        assert_eq!(slab.iter().count(), 3000);
    }
}
