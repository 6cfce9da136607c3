//! Comma-separated values as RFC 4180 has them, without line breaks inside a field. Not a writer.

/// The lines of a file, the head among them, each as its fields.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = Vec<String>> {
    text.lines().filter(|line| !line.is_empty()).map(fields)
}

fn fields(line: &str) -> Vec<String> {
    let (mut all, mut field, mut quoted) = (Vec::new(), String::new(), false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            // Two in a row are one of the text.
            '"' if quoted && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => all.push(std::mem::take(&mut field)),
            other => field.push(other),
        }
    }
    all.push(field);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_and_commas() {
        let all: Vec<_> = lines("a,b\n\n\"x, \"\"y\"\"\",,1\n").collect();
        assert_eq!(all, [vec!["a", "b"], vec!["x, \"y\"", "", "1"]]);
    }
}
