//! Reads the `Link` header, by which the forge names the next page.

/// What the headers say about a next page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextPage<'a> {
    At(&'a str),
    /// This page is the last.
    None,
    /// The headers cannot be read, or name two next pages.
    Unknown,
}

/// The next page that these headers name; a header that is `None` was not readable. Several headers
/// form one list.
pub fn next_page<'a>(headers: impl Iterator<Item = Option<&'a str>>) -> NextPage<'a> {
    let mut found = NextPage::None;
    for header in headers {
        let Some(header) = header else {
            return NextPage::Unknown;
        };
        let entries = split_entries(header).into_iter().map(str::trim);
        for entry in entries.filter(|it| !it.is_empty()) {
            let link = entry.strip_prefix('<').and_then(|it| it.split_once('>'));
            let Some((address, parameters)) = link else {
                return NextPage::Unknown;
            };
            if !is_next(parameters) {
                continue;
            }
            if !matches!(found, NextPage::None) && found != NextPage::At(address) {
                return NextPage::Unknown;
            }
            found = NextPage::At(address);
        }
    }
    found
}

fn is_next(parameters: &str) -> bool {
    parameters.split(';').any(|parameter| {
        let Some((name, value)) = parameter.split_once('=') else {
            return false;
        };
        let mut relations = value.trim().trim_matches('"').split_ascii_whitespace();
        name.trim().eq_ignore_ascii_case("rel")
            && relations.any(|it| it.eq_ignore_ascii_case("next"))
    })
}

/// Splits the header at its commas, except those inside an address.
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

    fn read(header: &str) -> NextPage<'_> {
        next_page([Some(header)].into_iter())
    }

    #[test]
    fn the_next_page_is_found() {
        let header = "<https://x/?page=1>; rel=\"prev\", <https://x/?a=1,2&page=3>; rel=\"next\", <https://x/?page=9>; rel=\"last\"";
        assert_eq!(read(header), NextPage::At("https://x/?a=1,2&page=3"));
        assert_eq!(read("<https://x>; rel=next"), NextPage::At("https://x"));
        assert_eq!(
            read("<https://x>; title=\"next\"; rel=\"last\""),
            NextPage::None
        );
        for empty in ["", ",,,", " "] {
            assert_eq!(read(empty), NextPage::None, "{empty}");
        }
        for broken in ["x", "<https://x", "<https://x>; rel=last, x", "https://x>"] {
            assert_eq!(read(broken), NextPage::Unknown, "{broken}");
        }
    }
}
