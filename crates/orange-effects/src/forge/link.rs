//! Reads the `Link` header, by which the forge names the next page.

/// The address of the next page, if there is one.
pub fn next_page(header: &str) -> Option<&str> {
    for entry in split_entries(header) {
        let entry = entry.trim();
        let rest = entry.strip_prefix('<')?;
        let (address, parameters) = rest.split_once('>')?;
        let is_next = parameters.split(';').any(|parameter| {
            let Some((name, value)) = parameter.split_once('=') else {
                return false;
            };
            let mut relations = value.trim().trim_matches('"').split_ascii_whitespace();
            name.trim().eq_ignore_ascii_case("rel") && relations.any(|it| it == "next")
        });
        if is_next {
            return Some(address);
        }
    }
    None
}

/// The entries of the header; a comma inside an address separates nothing.
fn split_entries(header: &str) -> Vec<&str> {
    let mut entries = Vec::new();
    let (mut start, mut is_inside) = (0, false);
    for (at, byte) in header.bytes().enumerate() {
        match byte {
            b'<' => is_inside = true,
            b'>' => is_inside = false,
            b',' if !is_inside => {
                entries.push(&header[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    entries.push(&header[start..]);
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found() {
        let header = "<https://x/?page=1>; rel=\"prev\", <https://x/?a=1,2&page=3>; rel=\"next\", <https://x/?page=9>; rel=\"last\"";
        assert_eq!(next_page(header), Some("https://x/?a=1,2&page=3"));
        assert_eq!(next_page("<https://x>; rel=next"), Some("https://x"));
        assert_eq!(next_page("<https://x>; title=\"next\"; rel=\"last\""), None);
        for broken in ["", "x", "<https://x", "<>", ",,,"] {
            assert_eq!(next_page(broken), None, "{broken}");
        }
    }
}
