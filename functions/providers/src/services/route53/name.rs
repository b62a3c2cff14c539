//! Names of zones and records. Route 53 answers them in lower case, with a dot at the end, and with every character but
//! letters, digits, `-`, `_` and `.` as an octal escape: a wildcard comes back as `\052.example.com.`.

/// The name as it is compared: bytes without escapes, in lower case, without the last dot.
pub(super) fn plain(name: &str) -> Vec<u8> {
    let bytes = name.strip_suffix('.').unwrap_or(name).as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let (byte, length) = match octal(&bytes[at..]) {
            Some(byte) => (byte, 4),
            None => (bytes[at], 1),
        };
        plain.push(byte.to_ascii_lowercase());
        at += length;
    }
    plain
}

/// The byte that `\ooo` stands for.
fn octal(bytes: &[u8]) -> Option<u8> {
    let [b'\\', digits @ ..] = bytes.first_chunk::<4>()? else { return None };
    let digits = std::str::from_utf8(digits).ok().filter(|d| d.bytes().all(|b| b.is_ascii_digit()))?;
    u8::from_str_radix(digits, 8).ok()
}

/// Whether two names are one.
pub(super) fn same(a: &str, b: &str) -> bool {
    plain(a) == plain(b)
}

/// The name as Route 53 writes it, which is how its lists are sorted and where they go on.
pub(super) fn written(name: &str) -> String {
    let mut written = String::new();
    for byte in plain(name) {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' => written.push(char::from(byte)),
            _ => written.push_str(&format!("\\{byte:03o}")),
        }
    }
    written.push('.');
    written
}

/// Sorts names as the lists do: the labels turned round (`com.example.www`).
pub(super) fn order(name: &str) -> String {
    let written = written(name);
    written.trim_end_matches('.').rsplit('.').collect::<Vec<_>>().join(".") + "."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_writing_only_are_one() {
        for (a, b) in [
            ("*.example.com", "\\052.example.com."),
            ("API.Example.com", "api.example.com."),
            ("0/26.2.0.192.in-addr.arpa", "0\\05726.2.0.192.in-addr.arpa."),
            ("_dmarc.example.com.", "_dmarc.example.com"),
            ("\\052.example.com", "\\052.example.com."),
        ] {
            assert!(same(a, b), "{a} {b}");
            assert!(same(&written(a), b), "{a} is written {}", written(a));
        }
        for (a, b) in
            [("a.example.com", "b.example.com"), ("*.example.com", "example.com"), ("\\05.x", "\\052.x"), ("\\999", "9")]
        {
            assert!(!same(a, b), "{a} {b}");
        }
        assert_eq!(written("*.Example.com"), "\\052.example.com.");
    }

    #[test]
    fn lists_are_sorted_by_the_last_label_first() {
        assert!(order("example.com") < order("a.example.com"));
        assert!(order("z.a.example.com") < order("b.example.com"));
        assert_eq!(order("B.example.com."), order("b.example.com"));
    }
}
