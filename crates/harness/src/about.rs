//! Takes a benchmark's module comment into its descriptor, so that `groma explain` shows the very
//! text that the reader of the file sees.

/// The length of the module comment without its comment marks.
pub const fn text_len(source: &str) -> usize {
    let mut length = 0;
    walk(source, &mut [], &mut length);
    length
}

/// The module comment without its comment marks; `N` is the result of [`text_len`].
pub const fn text<const N: usize>(source: &str) -> [u8; N] {
    let mut out = [0; N];
    let mut length = 0;
    walk(source, &mut out, &mut length);
    out
}

/// Copies the leading `//!` lines without their marks. Only counts if `out` is empty.
const fn walk(source: &str, out: &mut [u8], length: &mut usize) {
    let s = source.as_bytes();
    let mut i = 0;
    while i + 2 < s.len() && s[i] == b'/' && s[i + 1] == b'/' && s[i + 2] == b'!' {
        i += 3;
        if i < s.len() && s[i] == b' ' {
            i += 1;
        }
        while i < s.len() {
            let byte = s[i];
            if !out.is_empty() {
                out[*length] = byte;
            }
            *length += 1;
            i += 1;
            if byte == b'\n' {
                break;
            }
        }
    }
}

/// The module comment of a file, which names itself: `about: about!("pipe_rtt.rs")`.
#[macro_export]
macro_rules! about {
    ($file:literal) => {{
        const SOURCE: &str = include_str!($file);
        static TEXT: [u8; $crate::about::text_len(SOURCE)] = $crate::about::text(SOURCE);
        let text = match ::core::str::from_utf8(&TEXT) {
            Ok(text) => text,
            Err(_) => panic!("the comment marks are ASCII, so what is left is UTF-8"),
        };
        $crate::model::About { text, file: ::core::file!() }
    }};
}

#[cfg(test)]
mod tests {
    #[test]
    fn takes_the_module_comment_and_nothing_else() {
        let about = crate::about!("about.rs");
        assert!(about.text.starts_with("Takes a benchmark's module comment into its descriptor"));
        assert!(about.text.trim_end().ends_with("the file sees."));
        assert!(!about.text.contains("The length of"));
    }

    #[test]
    fn a_comment_may_be_all_that_there_is() {
        for (source, text) in [
            ("//! One\n//!\n//! two", "One\n\ntwo"),
            ("//!", ""),
            ("//! One\nuse", "One\n"),
            ("/", ""),
            ("/*! One", ""),
        ] {
            assert_eq!(super::text_len(source), text.len(), "{source}");
        }
        assert_eq!(&super::text::<3>("//! One"), b"One");
    }
}
