//! Chooses a request's proxy from the user's environment variables.

use orange_config::Environment;
use ureq::Proxy;

use super::error::Trouble;

/// The variables that may name the proxy; the first one that is set counts.
const PROXY_VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

const DIRECT_VARIABLES: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// The user's proxy settings.
pub struct Proxies {
    /// The proxy, if one is set; `Err` holds the name of a variable whose value is not a proxy.
    proxy: Result<Option<Proxy>, &'static str>,
    /// Hosts that are reached directly, as `NO_PROXY` lists them.
    direct: Vec<String>,
}

impl Proxies {
    /// Reads the usual variables. ureq could read them itself, but only `Environment` may.
    pub fn new(environment: &Environment) -> Proxies {
        let set = |names: &[&'static str]| {
            let mut values = names.iter().map(|name| (*name, environment.variable(name)));
            values.find_map(|(name, value)| Some((name, value.filter(|it| !it.is_empty())?)))
        };
        let proxy = set(&PROXY_VARIABLES).map(|(name, value)| {
            let proxy = value.to_str().and_then(|it| Proxy::new(it).ok());
            proxy.ok_or(name)
        });
        let direct = set(&DIRECT_VARIABLES).map(|(_, value)| value.to_string_lossy());
        let direct = direct.unwrap_or_default();
        let direct = direct.split(',').map(|it| it.trim().to_lowercase());
        Proxies {
            proxy: proxy.transpose(),
            direct: direct.filter(|it| !it.is_empty()).collect(),
        }
    }

    /// The proxy for a host, which is given without its port. Fails if the variable for the proxy
    /// is not valid, because orange must not bypass the proxy.
    pub fn proxy_for(&self, host: &str) -> Result<Option<Proxy>, Trouble> {
        let host = host.to_lowercase();
        let is_direct = self.direct.iter().any(|entry| {
            let domain = entry.trim_start_matches("*.").trim_start_matches('.');
            let below = host
                .strip_suffix(domain)
                .is_some_and(|it| it.ends_with('.'));
            entry == "*" || host == domain || below
        });
        if is_direct {
            return Ok(None);
        }
        self.proxy.clone().map_err(|name| Trouble::Unreachable {
            reason: format!("${name} is not the address of a proxy; correct or unset it"),
            may_have_arrived: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_hosts_are_reached_directly() {
        let proxies = Proxies::new(&Environment::of([
            ("HTTPS_PROXY", "http://proxy.example.org:3128"),
            ("NO_PROXY", "localhost, .corp.example, ghe.example.org"),
        ]));
        let is_proxied = |host| proxies.proxy_for(host).unwrap().is_some();
        assert!(is_proxied("api.github.com"));
        assert!(is_proxied("notcorp.example"));
        for host in [
            "ghe.example.org",
            "a.ghe.example.org",
            "x.corp.example",
            "LOCALHOST",
        ] {
            assert!(!is_proxied(host), "{host}");
        }
        let none = Proxies::new(&Environment::of([("PATH", "/bin")]));
        assert!(none.proxy_for("api.github.com").unwrap().is_none());
        let empty = Proxies::new(&Environment::of([("HTTPS_PROXY", "")]));
        assert!(empty.proxy_for("api.github.com").unwrap().is_none());
    }

    #[test]
    fn a_proxy_that_cannot_be_read_is_not_ignored() {
        for value in [
            "http://",
            "://secret",
            "http://a secret",
            "bogus://secret:1",
        ] {
            let proxies = Proxies::new(&Environment::of([
                ("HTTPS_PROXY", value),
                ("ALL_PROXY", "http://proxy.example.org:3128"),
                ("NO_PROXY", "ghe.example.org"),
            ]));
            let error = proxies.proxy_for("api.github.com").unwrap_err().to_string();
            assert!(error.contains("$HTTPS_PROXY"), "{value}: {error}");
            assert!(!error.contains("secret"), "{error}");
            assert!(proxies.proxy_for("ghe.example.org").unwrap().is_none());
        }
    }
}
