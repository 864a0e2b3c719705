//! Bits of a chain of moves: the highest of a byte comes first.

#[derive(Clone, Debug)]
pub(super) struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

const BLOCK_BITS: u32 = 4;

impl<'a> BitReader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Takes the next bits, at most 8, as a number; `None` if there are too few.
    #[inline]
    pub fn take(&mut self, count: u32) -> Option<u32> {
        let end = self.at + count as usize;
        if end > 8 * self.bytes.len() {
            return None;
        }
        let first = u32::from(*self.bytes.get(self.at / 8).unwrap_or(&0));
        let second = u32::from(*self.bytes.get(self.at / 8 + 1).unwrap_or(&0));
        let window = (first << 8 | second) << (self.at % 8) & 0xffff;
        self.at = end;
        Some(window >> (16 - count))
    }

    /// Takes a number of up to 16 bits in blocks, the lowest first; `None` beyond the end or beyond 16 bits.
    pub fn take_variable(&mut self) -> Option<u16> {
        let mut value = 0;
        for shift in (0..16).step_by(BLOCK_BITS as usize) {
            let block = self.take(BLOCK_BITS + 1)?;
            value |= (block & ((1 << BLOCK_BITS) - 1)) << shift;
            if block >> BLOCK_BITS == 0 {
                return Some(value as u16);
            }
        }
        None
    }

    pub fn bytes_taken(&self) -> usize {
        self.at.div_ceil(8)
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct BitWriter {
    bytes: Vec<u8>,
    /// Number of bits of the last byte that are in use, 0 if it is full.
    used: u32,
}

impl BitWriter {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.used = 0;
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends the lowest `count` bits, at most 8.
    pub fn push(&mut self, value: u32, count: u32) {
        if count == 0 {
            return;
        }
        let value = value & ((1 << count) - 1);
        let window = value << (16 - count) >> self.used;
        match self.bytes.last_mut() {
            Some(last) if self.used > 0 => *last |= (window >> 8) as u8,
            _ => self.bytes.push((window >> 8) as u8),
        }
        if self.used + count > 8 {
            self.bytes.push(window as u8);
        }
        self.used = (self.used + count) % 8;
    }

    pub fn push_variable(&mut self, value: u16) {
        let mut rest = u32::from(value);
        loop {
            let block = rest & ((1 << BLOCK_BITS) - 1);
            rest >>= BLOCK_BITS;
            self.push(block | u32::from(rest > 0) << BLOCK_BITS, BLOCK_BITS + 1);
            if rest == 0 {
                return;
            }
        }
    }
}

/// Returns the number of bits that distinguish `count` things.
#[inline]
pub(super) fn bits_for(count: u32) -> u32 {
    if count < 2 { 0 } else { 32 - (count - 1).leading_zeros() }
}

/// Maps signed numbers to small unsigned ones: 0, −1, 1, −2 become 0, 1, 2, 3.
pub(super) fn unsigned(value: i16) -> u16 {
    ((value << 1) ^ (value >> 15)) as u16
}

pub(super) fn signed(value: u16) -> i16 {
    (value >> 1) as i16 ^ -((value & 1) as i16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn signs() {
        for (value, coded) in [(0, 0), (-1, 1), (1, 2), (-2, 3), (12, 24), (i16::MIN, u16::MAX)] {
            assert_eq!((unsigned(value), signed(coded)), (coded, value));
        }
        assert!((0..=u16::MAX).all(|value| unsigned(signed(value)) == value));
        assert_eq!([0, 1, 2, 3, 4, 12, 100].map(bits_for), [0, 0, 1, 2, 2, 4, 7]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(items in proptest::collection::vec((any::<u16>(), 0u32..10), 0..50)) {
            let mut writer = BitWriter::default();
            for &(value, count) in &items {
                if count < 9 { writer.push(u32::from(value), count) } else { writer.push_variable(value) }
            }
            let mut reader = BitReader::new(writer.bytes());
            for &(value, count) in &items {
                if count < 9 {
                    prop_assert_eq!(reader.take(count), Some(u32::from(value) & ((1 << count) - 1)));
                } else {
                    prop_assert_eq!(reader.take_variable(), Some(value));
                }
            }
            prop_assert_eq!(reader.bytes_taken(), writer.bytes().len());
            prop_assert_eq!(reader.take(8), None);
        }
    }
}
