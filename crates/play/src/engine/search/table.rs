//! Transposition table: results of the search by position.

use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, Move, Position, Role, Square};

use super::MATE_BOUND_CP;
use gputexel_io::{Error, Result};

/// Origin, target, promotion. Castling has the rook as its target. 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Packed(u16);

impl Packed {
    pub(super) fn new(m: Option<Move>) -> Self {
        let Some(m) = m else { return Self::default() };
        let from = m.from().map_or(0, u16::from);
        let promotion = m.promotion().map_or(0, |role| role as u16);
        Self(from | u16::from(m.to()) << 6 | promotion << 12)
    }

    pub(super) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// May not be legal in `position`.
    pub(super) fn unpack(self, position: &Chess) -> Option<Move> {
        if self.is_none() {
            return None;
        }
        let (from, to) = (Square::new(u32::from(self.0 & 63)), Square::new(u32::from(self.0 >> 6 & 63)));
        let promotion = match self.0 >> 12 {
            0 => None,
            number => Some(Role::try_from(number).ok()?),
        };
        let board = position.board();
        let role = board.role_at(from)?;
        let capture = board.role_at(to);
        Some(if role == Role::King && (position.us() & board.rooks()).contains(to) {
            Move::Castle { king: from, rook: to }
        } else if role == Role::Pawn && from.file() != to.file() && capture.is_none() {
            Move::EnPassant { from, to }
        } else {
            Move::Normal { role, from, capture, to, promotion }
        })
    }
}

/// Relation of a stored score to the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    Upper,
    Lower,
    Exact,
}

impl Bound {
    /// What the window from `alpha` to `beta` with the best score `best` proves.
    pub(super) fn proven(best: i32, alpha: i32, beta: i32) -> Self {
        if best >= beta {
            Self::Lower
        } else if best > alpha {
            Self::Exact
        } else {
            Self::Upper
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct StoredResult {
    pub m: Packed,
    pub score: i32,
    pub depth: i32,
    pub bound: Bound,
}

impl StoredResult {
    /// The score decides a search of the window.
    pub(super) fn decides(&self, alpha: i32, beta: i32) -> bool {
        match self.bound {
            Bound::Exact => true,
            Bound::Lower => self.score >= beta,
            Bound::Upper => self.score <= alpha,
        }
    }

    /// The static score, or the stored one if that is known to be nearer to the true score. Mates are not estimates.
    pub(super) fn correct(&self, static_score: i32) -> i32 {
        let nearer = match self.bound {
            Bound::Exact => true,
            Bound::Lower => self.score > static_score,
            Bound::Upper => self.score < static_score,
        };
        if nearer && self.score.abs() < MATE_BOUND_CP { self.score } else { static_score }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct TableEntry {
    key: u64,
    m: Packed,
    score: i16,
    depth: u8,
    /// 0 for no entry; two bits of bound (1 to 3), six of the search that wrote it.
    meta: u8,
}

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Bucket([TableEntry; 4]);

pub(super) struct Table {
    buckets: Vec<Bucket>,
    generation: u8,
}

const GENERATIONS: u8 = 64;

impl Table {
    pub(super) fn try_new(mib: usize) -> Result<Self> {
        let count = mib.max(1).saturating_mul((1 << 20) / size_of::<Bucket>());
        let mut buckets = Vec::new();
        let reserved = buckets.try_reserve_exact(count);
        reserved.map_err(|_| Error::setting("hash", mib, "there is no memory for a table of so many MiB"))?;
        buckets.resize(count, Bucket::default());
        Ok(Self { buckets, generation: 0 })
    }

    pub(super) fn clear(&mut self) {
        self.buckets.fill(Bucket::default());
        self.generation = 0;
    }

    pub(super) fn age(&mut self) {
        self.generation = (self.generation + 1) % GENERATIONS;
    }

    fn index(&self, key: Zobrist64) -> usize {
        ((u128::from(key.0) * self.buckets.len() as u128) >> 64) as usize
    }

    /// Some time before it is read: a search otherwise spent nearly half its time waiting for memory.
    pub(super) fn prefetch(&self, key: Zobrist64) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let bucket: *const Bucket = &self.buckets[self.index(key)];
            // SAFETY: prefetching changes nothing that can be observed; the address is that of a
            // bucket.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(bucket.cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = key;
    }

    pub(super) fn get(&self, key: Zobrist64, ply: usize) -> Option<StoredResult> {
        let bucket = &self.buckets[self.index(key)];
        let entry = bucket.0.iter().find(|entry| entry.meta != 0 && entry.key == key.0)?;
        let bound = match entry.meta & 3 {
            1 => Bound::Upper,
            2 => Bound::Lower,
            _ => Bound::Exact,
        };
        // Mates count from the position in the table, but from the root in scores of the search.
        let mut score = i32::from(entry.score);
        if score >= MATE_BOUND_CP {
            score -= ply as i32;
        } else if score <= -MATE_BOUND_CP {
            score += ply as i32;
        }
        Some(StoredResult { m: entry.m, score, depth: i32::from(entry.depth), bound })
    }

    pub(super) fn put(
        &mut self,
        key: Zobrist64,
        ply: usize,
        m: Option<Move>,
        mut score: i32,
        depth: i32,
        bound: Bound,
    ) {
        if score >= MATE_BOUND_CP {
            score += ply as i32;
        } else if score <= -MATE_BOUND_CP {
            score -= ply as i32;
        }
        let generation = self.generation;
        let index = self.index(key);
        let bucket = &mut self.buckets[index].0;
        let age =
            |entry: &TableEntry| i32::from((generation + GENERATIONS - (entry.meta >> 2)) % GENERATIONS);
        let worth = |entry: &TableEntry| match entry.meta {
            0 => i32::MIN,
            _ => i32::from(entry.depth) - 4 * age(entry),
        };
        let mut slot = 0;
        for (i, entry) in bucket.iter().enumerate() {
            if entry.meta != 0 && entry.key == key.0 {
                slot = i;
                break;
            }
            if worth(entry) < worth(&bucket[slot]) {
                slot = i;
            }
        }
        let old = bucket[slot];
        let same = old.meta != 0 && old.key == key.0;
        let depth = depth.clamp(0, 255);
        if same && bound != Bound::Exact && depth + 3 < i32::from(old.depth) && age(&old) == 0 {
            return;
        }
        let mut packed = Packed::new(m);
        if packed.is_none() && same {
            packed = old.m;
        }
        let bits = match bound {
            Bound::Upper => 1,
            Bound::Lower => 2,
            Bound::Exact => 3,
        };
        bucket[slot] = TableEntry {
            key: key.0,
            m: packed,
            score: score as i16,
            depth: depth as u8,
            meta: bits | generation << 2,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_beyond_the_memory_are_refused() {
        for mib in [usize::MAX, usize::MAX >> 20, 1 << 40] {
            let error = Table::try_new(mib).err().map(|error| error.to_string()).unwrap();
            assert!(error.contains("no memory for a table"), "{error}");
        }
        assert_eq!(
            Table::try_new(0).map(|table| table.buckets.len() * size_of::<Bucket>()).ok(),
            Some(1 << 20)
        );
    }
}
