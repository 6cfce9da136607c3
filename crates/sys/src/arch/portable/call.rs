//! Calls of a function that does nothing with its arguments. The call is indirect: the compiler
//! looks through any other.

use crate::arch::call::define_calls;
use core::hint::black_box;

macro_rules! turns {
    ($turns:ident, $calls:ident, [$($arg:literal)*], $callee:ident) => {{
        let callee = black_box($callee as extern "C" fn($(turns!(@word $arg)),*));
        for _ in 0..$turns {
            for _ in 0..$calls {
                callee($($arg),*);
            }
        }
    }};
    (@word $arg:literal) => { u64 };
}

/// Both callees; the second stores what it is passed.
macro_rules! callees {
    ([$($arg:ident)*]) => {
        extern "C" fn leaf($(_: callees!(@word $arg)),*) {}
        extern "C" fn frame($($arg: u64),*) {
            $(black_box($arg);)*
        }
    };
    (@word $arg:ident) => { u64 };
}

define_calls! {
    turns, callees;
    calls0: [] [];
    calls1: [1] [a];
    calls2: [1 2] [a b];
    calls3: [1 2 3] [a b c];
    calls4: [1 2 3 4] [a b c d];
    calls5: [1 2 3 4 5] [a b c d e];
    calls6: [1 2 3 4 5 6] [a b c d e f];
    calls7: [1 2 3 4 5 6 7] [a b c d e f g];
}
