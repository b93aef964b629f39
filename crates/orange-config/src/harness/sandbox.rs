//! What an agent needs in its sandbox: files, hosts, and its login.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use serde::Deserialize;
use toml::Spanned;

use super::Problem;
use super::readiness::resolve_path;
use super::skills::is_below_home;
use crate::{Environment, HostPort};

/// What an agent with a private home and a limited network needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HarnessSandbox {
    read: Vec<String>,
    copy: Vec<String>,
    share: Vec<String>,
    /// The hosts that it always reaches: its service.
    pub hosts: Vec<HostPort>,
    /// Logins that can stay outside.
    logins: Vec<Login>,
    /// Arguments, and what replaces each in a sandbox.
    instead: BTreeMap<String, String>,
}

/// A login that the agent has in a variable, and that orange can add to its requests instead.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// The user's variable with the login.
    pub variable: String,
    /// The variable that has a login without value inside, if not the same.
    pub inside: Option<String>,
    /// The header of a request that has the login.
    pub header: String,
    /// What precedes the login in the header.
    #[serde(default)]
    pub prefix: String,
    /// The variable with the address of the service.
    pub address: String,
    /// The address if that variable is not set.
    pub service: String,
    /// How the paths begin that the agent may request.
    pub paths: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SandboxTable {
    #[serde(default)]
    read: Vec<Spanned<String>>,
    #[serde(default)]
    copy: Vec<Spanned<String>>,
    #[serde(default)]
    share: Vec<Spanned<String>>,
    #[serde(default)]
    hosts: Vec<HostPort>,
    #[serde(default)]
    login: Vec<Spanned<Login>>,
    #[serde(default)]
    instead: BTreeMap<String, String>,
}

impl HarnessSandbox {
    /// Visible, and read-only.
    pub fn read(&self, environment: &Environment) -> Vec<PathBuf> {
        resolve(&self.read, environment)
    }

    /// Copied into the private home at each start; changes stay there.
    pub fn copy(&self, environment: &Environment) -> Vec<PathBuf> {
        resolve(&self.copy, environment)
    }

    /// Visible, and the agent writes your own file.
    pub fn share(&self, environment: &Environment) -> Vec<PathBuf> {
        resolve(&self.share, environment)
    }

    /// The login that stays outside: the first one that the user has.
    pub fn login_of(&self, environment: &Environment) -> Option<&Login> {
        let is_set = |name: &str| environment.variable(name).is_some_and(|it| !it.is_empty());
        self.logins.iter().find(|login| is_set(&login.variable))
    }

    /// The arguments that the agent gets in a sandbox.
    pub fn arguments(&self, arguments: Vec<OsString>) -> Vec<OsString> {
        let arguments = arguments.into_iter();
        let arguments = arguments.map(|argument| {
            let other = argument.to_str().and_then(|it| self.instead.get(it));
            other.map_or(argument, OsString::from)
        });
        arguments.collect()
    }
}

fn resolve(paths: &[String], environment: &Environment) -> Vec<PathBuf> {
    let paths = paths.iter();
    let paths = paths.filter_map(|path| resolve_path(path, environment));
    // A variable may set a relative path, which could mean any folder.
    paths.filter(|path| path.is_absolute()).collect()
}

/// Accepts only paths below `~`, as for skills.
pub(super) fn validate_sandbox(table: SandboxTable) -> Result<HarnessSandbox, Problem> {
    let logins = table.login.into_iter().map(validate_login);
    Ok(HarnessSandbox {
        read: validate_paths(table.read)?,
        copy: validate_paths(table.copy)?,
        share: validate_paths(table.share)?,
        hosts: table.hosts,
        logins: logins.collect::<Result<_, _>>()?,
        instead: table.instead,
    })
}

/// Accepts only paths that begin with `/`, so that none is empty and allows everything by accident.
fn validate_login(login: Spanned<Login>) -> Result<Login, Problem> {
    let span = login.span();
    let login = login.into_inner();
    let is_path = |path: &String| path.starts_with('/');
    if login.paths.is_empty() || !login.paths.iter().all(is_path) {
        let message = String::from("a login needs the paths that the agent may request");
        let hint = "write how they begin, such as `paths = [\"/v1/\"]`";
        return Err((span, message, hint.to_owned()));
    }
    Ok(login)
}

fn validate_paths(paths: Vec<Spanned<String>>) -> Result<Vec<String>, Problem> {
    for path in &paths {
        if !is_below_home(path.get_ref()) {
            let text = path.get_ref().escape_debug();
            let message = format!("`{text}` is not a valid path for a sandbox");
            let hint = "write a path below `~`, such as `~/.agent/settings.json`, or \
                        `${AGENT_HOME:-~/.agent}/settings.json` where a variable may move it";
            return Err((path.span(), message, hint.to_owned()));
        }
    }
    Ok(paths.into_iter().map(Spanned::into_inner).collect())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::{Environment, Harness};

    fn parsed(table: &str) -> Result<Harness, String> {
        let text = format!("name = \"a\"\nbinary = \"a\"\n[args]\nfull = []\n[sandbox]\n{table}\n");
        Harness::parse("a.toml", &text).map_err(|error| error.to_string())
    }

    #[test]
    fn paths_are_below_the_home_or_where_a_variable_moves_them() {
        let harness = parsed(
            "read = [\"~/.agent/skills\", \"${AGENT:-~/.agent}/s.json\"]\ncopy = [\"~/.a.json\"]",
        );
        let files = harness.unwrap().sandbox;
        let environment = Environment::of([("HOME", "/ada"), ("AGENT", "/ada/moved")]);
        let expected = [
            Path::new("/ada/.agent/skills"),
            Path::new("/ada/moved/s.json"),
        ];
        assert_eq!(files.read(&environment), expected);
        assert_eq!(files.copy(&environment), [Path::new("/ada/.a.json")]);
        assert!(files.share(&environment).is_empty());
    }

    #[test]
    fn other_paths_are_refused_with_their_line() {
        for table in [
            "read = [\"/etc/shadow\"]",
            "copy = [\"~/../x\"]",
            "share = [\"~\"]",
        ] {
            let error = parsed(table).unwrap_err();
            assert!(error.starts_with("a.toml:6: "), "{error}");
        }
        parsed("write = []").unwrap_err();
    }

    #[test]
    fn whole_arguments_are_replaced() {
        let harness = parsed("instead = { inner = \"none\" }").unwrap();
        let replaced = |words: &[&str]| {
            let words = words.iter().map(std::ffi::OsString::from);
            harness.sandbox.arguments(words.collect())
        };
        let words = ["--sandbox", "inner", "--", "the inner part", "inner=1"];
        let expected = ["--sandbox", "none", "--", "the inner part", "inner=1"];
        assert_eq!(replaced(&words), expected);
    }

    #[test]
    fn a_login_names_its_paths() {
        let login = "[[sandbox.login]]\nvariable = \"KEY\"\nheader = \"x-api-key\"\n\
                     address = \"BASE\"\nservice = \"https://a.example\"\n";
        let harness = parsed(&format!("{login}paths = [\"/v1/\"]")).unwrap();
        let [login_of_harness] = harness.sandbox.logins.as_slice() else {
            panic!("{:?}", harness.sandbox.logins);
        };
        assert_eq!(login_of_harness.variable, "KEY");
        assert_eq!(login_of_harness.prefix, "");
        for paths in ["paths = []", "paths = [\"\"]", ""] {
            parsed(&format!("{login}{paths}")).unwrap_err();
        }
        parsed("hosts = [\"https://a.example\"]").unwrap_err();
        let harness = parsed("hosts = [\"a.example\"]").unwrap();
        assert_eq!(harness.sandbox.hosts[0].to_string(), "a.example:443");
    }
}
