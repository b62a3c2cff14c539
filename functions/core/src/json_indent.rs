//! Re-indents JSON text as cdkd writes it (two spaces, empty brackets closed) without touching anything but white space:
//! numbers, escapes and key order stay as they were read. Expects JSON that has been validated; never panics on other text.

/// What re-indented text would come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The deepest nesting of arrays and objects.
    pub depth: usize,
    /// Its length in bytes.
    pub len: usize,
}

/// Appends `json` to `out`, laid out as it stands `depth` levels inside a document.
pub fn indent_into(out: &mut Vec<u8>, json: &str, depth: usize) {
    lay_out(out, json.as_bytes(), depth);
}

/// The whole document `json`, indented.
pub fn indent(json: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    indent_into(&mut out, json, 0);
    out
}

/// The shape of `json` without laying it out: a short text can be deep enough to fill any memory when indented.
pub fn measure(json: &str) -> Shape {
    let mut shape = Shape::default();
    lay_out(&mut shape, json.as_bytes(), 0);
    shape
}

/// Appends a line break and the indentation of `depth`.
pub(crate) fn new_line(out: &mut Vec<u8>, depth: usize) {
    out.line(depth);
}

trait Sink {
    fn text(&mut self, bytes: &[u8]);
    fn line(&mut self, depth: usize);
    fn nest(&mut self, _depth: usize) {}
}

impl Sink for Vec<u8> {
    fn text(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
    fn line(&mut self, depth: usize) {
        self.push(b'\n');
        self.resize(self.len() + 2 * depth, b' ');
    }
}

impl Sink for Shape {
    fn text(&mut self, bytes: &[u8]) {
        self.len = self.len.saturating_add(bytes.len());
    }
    fn line(&mut self, depth: usize) {
        self.len = self.len.saturating_add(1 + 2 * depth);
    }
    fn nest(&mut self, depth: usize) {
        self.depth = self.depth.max(depth);
    }
}

/// Cuts only beside ASCII bytes, so multi-byte characters stay whole.
fn lay_out(sink: &mut impl Sink, json: &[u8], mut depth: usize) {
    let mut at = skip(json, 0, is_space);
    while let Some(&byte) = json.get(at) {
        let mut end = at + 1;
        match byte {
            b'"' => {
                end = string_end(json, at);
                sink.text(&json[at..end]);
            }
            b'{' | b'[' => {
                sink.nest(depth + 1);
                sink.text(&[byte]);
                end = skip(json, end, is_space);
                match json.get(end) {
                    Some(&close @ (b'}' | b']')) => {
                        sink.text(&[close]);
                        end += 1;
                    }
                    _ => {
                        depth += 1;
                        sink.line(depth);
                    }
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                sink.line(depth);
                sink.text(&[byte]);
            }
            b',' => {
                sink.text(b",");
                sink.line(depth);
            }
            b':' => sink.text(b": "),
            _ => {
                end = skip(json, end, |b| !is_space(b) && !b"{}[],:\"".contains(&b));
                sink.text(&json[at..end]);
            }
        }
        at = skip(json, end, is_space);
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn skip(json: &[u8], from: usize, over: impl Fn(u8) -> bool) -> usize {
    json[from..].iter().position(|&b| !over(b)).map_or(json.len(), |n| from + n)
}

/// The index after the string that opens at `from`.
fn string_end(json: &[u8], from: usize) -> usize {
    let mut at = from + 1;
    while let Some(&byte) = json.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    json.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(json: &str) -> String {
        String::from_utf8(indent(json)).unwrap()
    }

    #[test]
    fn lays_out_as_cdkd_does_and_keeps_every_token() {
        let minified = r#"{"a":[1,2.50,98765432109876543210,1E+2],"é\u00e9\"{":{"b":[],"c":{}},"d":[{"e":null}]}"#;
        let laid_out = "{\n  \"a\": [\n    1,\n    2.50,\n    98765432109876543210,\n    1E+2\n  ],\n  \"é\\u00e9\\\"{\": {\n    \"b\": [],\n    \
                        \"c\": {}\n  },\n  \"d\": [\n    {\n      \"e\": null\n    }\n  ]\n}";
        assert_eq!(text(minified), laid_out);
        assert_eq!(text(laid_out), laid_out);
        assert_eq!(text(&laid_out.replace('\n', "\r\n\t ").replace("[]", "[ \n]")), laid_out);
        assert_eq!(measure(minified), Shape { depth: 3, len: laid_out.len() });
    }

    #[test]
    fn starts_at_the_depth_it_is_given() {
        let mut out = b"x: ".to_vec();
        indent_into(&mut out, r#"{"a":[]}"#, 2);
        assert_eq!(out, b"x: {\n      \"a\": []\n    }");
    }

    #[test]
    fn a_deep_text_is_measured_without_being_laid_out() {
        let bomb = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        let shape = measure(&bomb);
        assert_eq!(shape.depth, 200_000);
        assert!(shape.len > 10_000_000_000);
    }

    #[test]
    fn broken_text_does_no_harm() {
        for broken in ["", "]]]]", "\"", "\"\\", "{", "[}", "\u{feff}é", ":,:"] {
            indent(broken);
            measure(broken);
        }
    }
}
