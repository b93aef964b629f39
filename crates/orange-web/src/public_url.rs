//! The address under which a proxy makes the server reachable.

use std::fmt;
use std::str::FromStr;

/// A URL such as `https://machine.tailnet.ts.net`: a host, and a port if it is not the usual one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicUrl {
    host: String,
}

impl PublicUrl {
    /// The value of `Host` that requests through the proxy have.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The value of `Origin` that they have.
    pub fn origin(&self) -> String {
        format!("https://{}", self.host)
    }
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rest = text.strip_prefix("https://");
        let rest = rest.ok_or_else(|| String::from("it must begin with `https://`"))?;
        let host = rest.strip_suffix('/').unwrap_or(rest);
        let (name, port) = host.split_once(':').unwrap_or((host, "1"));
        let is_part =
            |it: char| it.is_ascii_lowercase() || it.is_ascii_digit() || "-.".contains(it);
        let is_name = name.chars().all(is_part)
            && name.starts_with(|it: char| it.is_ascii_alphanumeric())
            && name.ends_with(|it: char| it.is_ascii_alphanumeric());
        let is_port = port.parse::<u16>().is_ok_and(|it| it > 0) && !port.starts_with(['0', '+']);
        if !is_name || !is_port || host.ends_with(":443") {
            return Err(String::from(
                "write `https://` and a host in lowercase, with a port if it is not 443, and no path",
            ));
        }
        Ok(Self {
            host: host.to_owned(),
        })
    }
}

impl fmt::Display for PublicUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.origin())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_url_is_one_exact_host() {
        let parsed = |text: &str| text.parse::<PublicUrl>();
        let url = parsed("https://box.tailnet.ts.net/").unwrap();
        assert_eq!(url.host(), "box.tailnet.ts.net");
        assert_eq!(url.origin(), "https://box.tailnet.ts.net");
        assert_eq!(parsed("https://box:8443").unwrap().host(), "box:8443");
        for bad in [
            "http://box",
            "https://",
            "https://*.ts.net",
            "https://box/path",
            "https://user@box",
            "https://Box",
            "https://box.",
            "https://box:443",
            "https://box:0",
            "https://box:99999",
            "https://box?x",
            "box",
        ] {
            assert!(parsed(bad).is_err(), "{bad}");
        }
    }
}
