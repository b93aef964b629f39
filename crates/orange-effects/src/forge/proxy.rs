//! Which proxy a request takes, by the user's variables.

use orange_config::Environment;
use ureq::Proxy;

/// The user's proxy settings.
pub struct Proxies {
    proxy: Option<Proxy>,
    /// Hosts that are reached directly, as `NO_PROXY` lists them.
    direct: Vec<String>,
}

impl Proxies {
    /// Reads the usual variables. ureq would read them too, past the one place that may.
    pub fn new(environment: &Environment) -> Proxies {
        let variable = |names: &[&str]| {
            let mut values = names.iter().filter_map(|name| environment.variable(name));
            values.find_map(|value| value.to_str().map(str::to_owned))
        };
        let address = variable(&["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]);
        let direct = variable(&["NO_PROXY", "no_proxy"]).unwrap_or_default();
        let direct = direct.split(',').map(|it| it.trim().to_lowercase());
        Proxies {
            proxy: address.and_then(|it| Proxy::new(&it).ok()),
            direct: direct.filter(|it| !it.is_empty()).collect(),
        }
    }

    /// The proxy for a host, without its port.
    pub fn proxy_for(&self, host: &str) -> Option<Proxy> {
        let host = host.to_lowercase();
        let is_direct = self.direct.iter().any(|entry| {
            let domain = entry.trim_start_matches("*.").trim_start_matches('.');
            let below = host
                .strip_suffix(domain)
                .is_some_and(|it| it.ends_with('.'));
            entry == "*" || host == domain || below
        });
        self.proxy.clone().filter(|_| !is_direct)
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
        let is_proxied = |host| proxies.proxy_for(host).is_some();
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
        assert!(none.proxy_for("api.github.com").is_none());
    }
}
