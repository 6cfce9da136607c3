//! Calls of a function that only returns. The call is indirect: the compiler looks through any
//! other.

use crate::arch::call::define_calls;
use core::hint::black_box;

macro_rules! turns {
    ($turns:ident, $calls:ident, [$($arg:literal)*]) => {{
        extern "C" fn leaf($(_: turns!(@word $arg)),*) {}
        let leaf = black_box(leaf as extern "C" fn($(turns!(@word $arg)),*));
        for _ in 0..$turns {
            for _ in 0..$calls {
                leaf($($arg),*);
            }
        }
    }};
    (@word $arg:literal) => { u64 };
}

define_calls! {
    turns;
    calls0: [];
    calls1: [1];
    calls2: [1 2];
    calls3: [1 2 3];
    calls4: [1 2 3 4];
    calls5: [1 2 3 4 5];
    calls6: [1 2 3 4 5 6];
    calls7: [1 2 3 4 5 6 7];
}
