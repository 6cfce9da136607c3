// What the carried compiler makes of a source, and what `mix.andrew` expects of it: one file, in
// both. No standard library.

/// Tokens, and a hash over all of them in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) count: u64,
    pub(crate) hash: u64,
}

/// Bytes of the beginning of an object: the two numbers of [`Tokens`].
pub(crate) const HEAD: usize = 16;

impl Tokens {
    pub(crate) const NONE: Tokens = Tokens { count: 0, hash: 0xcbf2_9ce4_8422_2325 };

    /// One token's name, by FNV-1a.
    fn name(token: &[u8]) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for byte in token {
            hash = (hash ^ *byte as u64).wrapping_mul(0x0000_0100_0000_01b3);
        }
        hash
    }

    /// Cuts a source into words, numbers and single signs; `emit` is given the name of each.
    pub(crate) fn of(source: &[u8], mut emit: impl FnMut(u64)) -> Tokens {
        let mut all = Tokens::NONE;
        let mut at = 0;
        while at < source.len() {
            let from = at;
            let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if source[at].is_ascii_whitespace() {
                at += 1;
                continue;
            }
            while at < source.len() && word(source[at]) {
                at += 1;
            }
            if at == from {
                at += 1;
            }
            let name = Tokens::name(&source[from..at]);
            all.count += 1;
            all.hash = (all.hash ^ name).wrapping_mul(0x0000_0100_0000_01b3);
            emit(name);
        }
        all
    }

    pub(crate) fn head(&self) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(&self.count.to_le_bytes());
        head[8..].copy_from_slice(&self.hash.to_le_bytes());
        head
    }
}
