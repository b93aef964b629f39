//! HTML text in which everything from outside is escaped.

use crate::output::escape_controls;

/// Markup. Only [`Html::text`] and [`Html::element`] accept text from outside.
#[derive(Debug, Default)]
pub struct Html(String);

impl Html {
    /// Adds markup that is part of the program.
    pub fn markup(&mut self, markup: &str) -> &mut Html {
        self.0.push_str(markup);
        self
    }

    /// Adds text between two tags.
    pub fn text(&mut self, text: &str) -> &mut Html {
        for it in escape_controls(text).chars() {
            match it {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                it => self.0.push(it),
            }
        }
        self
    }

    /// Adds an element with text in it; `tag` may have attributes.
    pub fn element(&mut self, tag: &str, text: &str) -> &mut Html {
        let name = tag.split(' ').next().unwrap_or(tag);
        self.markup("<").markup(tag).markup(">");
        self.text(text);
        self.markup("</").markup(name).markup(">")
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_stays_text() {
        let mut html = Html::default();
        html.element(
            "td class=\"x\"",
            "<script>alert('1')</script> & \"\u{1b}[31m\u{202e}",
        );
        let text = html.into_string();
        assert_eq!(
            text,
            "<td class=\"x\">&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; \
             &quot;\u{fffd}[31m\u{fffd}</td>"
        );
    }
}
