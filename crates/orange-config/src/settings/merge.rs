//! Merges the sources of each setting.

use orange_engine::names::ProjectName;

use super::file::{GivenValues, SettingsError};
use super::keys::{KEYS, Key, key};
use super::policy_keys::{PolicyRule, SCRIPT_KEYS};
use super::value::{Kind, Value};
use super::{Setting, SettingOrigin};
use crate::{Environment, Home, PinnedPolicy, Policy, Project};

/// Every key with its value and the source of the value.
pub(super) fn merge(
    home: &Home,
    environment: &Environment,
    project: Option<&Project>,
    policy: Option<&AllowedPolicy>,
    given: &GivenValues,
) -> Result<Vec<Setting>, SettingsError> {
    let in_file = |name: &str| {
        let (value, line) = given.get(name)?;
        let path = home.settings();
        Some((value.clone(), SettingOrigin::File { path, line: *line }))
    };
    let mut all = Vec::new();
    for key in KEYS {
        if let Some(family) = key.name.strip_suffix('*') {
            for name in given.keys().filter(|name| name.starts_with(family)) {
                all.extend(in_file(name).map(|found| setting(name, Some(found))));
            }
            continue;
        }
        let built_in = || Some(((key.default)()?, SettingOrigin::Default));
        let general = in_file(key.name);
        let in_policy = policy.and_then(|policy| policy.value(key));
        let general = match key.policy {
            PolicyRule::Stricter => stricter(key, in_policy, general.or_else(built_in)),
            PolicyRule::Default | PolicyRule::Never => general.or(in_policy).or_else(built_in),
        };
        let found = in_environment(key, environment)?.or_else(|| in_project(home, project, key));
        all.push(setting(key.name, found.or(general)));
    }
    for key in SCRIPT_KEYS {
        let in_policy = policy.and_then(|policy| policy.value(key));
        let found = in_project(home, project, key).or(in_policy);
        all.extend(found.map(|found| setting(key.name, Some(found))));
    }
    Ok(all)
}

/// The policy that the user allowed for the project.
pub(super) struct AllowedPolicy {
    pinned: PinnedPolicy,
    policy: Policy,
}

impl AllowedPolicy {
    pub(super) fn load(
        home: &Home,
        project: &ProjectName,
    ) -> Result<Option<AllowedPolicy>, SettingsError> {
        let Some(pinned) = PinnedPolicy::load(home, project)? else {
            return Ok(None);
        };
        let policy = pinned.policy(home)?;
        Ok(Some(AllowedPolicy { pinned, policy }))
    }

    fn value(&self, key: &Key) -> Option<(Value, SettingOrigin)> {
        let origin = SettingOrigin::Policy {
            project: self.pinned.project.to_string(),
            commit: self.pinned.commit.to_string(),
        };
        Some((self.policy.value(key.name)?.clone(), origin))
    }
}

fn in_environment(
    key: &Key,
    environment: &Environment,
) -> Result<Option<(Value, SettingOrigin)>, SettingsError> {
    let given = key.variable.map(|it| (it, environment.variable(it)));
    let Some((variable, Some(text))) = given else {
        return Ok(None);
    };
    let text = text.to_string_lossy();
    let value = key
        .kind
        .read(&text)
        .ok_or_else(|| SettingsError::Variable {
            variable,
            value: text.into_owned(),
            expected: key.kind.expected(),
        })?;
    Ok(Some((value, SettingOrigin::Environment { variable })))
}

fn setting(name: &str, found: Option<(Value, SettingOrigin)>) -> Setting {
    let (value, origin) = found.unzip();
    Setting {
        key: name.to_owned(),
        value,
        origin: origin.unwrap_or(SettingOrigin::Default),
    }
}

fn in_project(home: &Home, project: Option<&Project>, key: &Key) -> Option<(Value, SettingOrigin)> {
    let project = project?;
    let origin = SettingOrigin::Project {
        project: project.name.to_string(),
        path: home.projects(),
    };
    Some(((key.project)(project)?, origin))
}

/// The value of the policy if it is the stricter one, else the other.
fn stricter(
    key: &Key,
    in_policy: Option<(Value, SettingOrigin)>,
    general: Option<(Value, SettingOrigin)>,
) -> Option<(Value, SettingOrigin)> {
    let value = |found: &Option<(Value, SettingOrigin)>| found.as_ref().map(|it| it.0.clone());
    if is_stricter(
        key.name,
        value(&in_policy).as_ref(),
        value(&general).as_ref(),
    ) {
        in_policy
    } else {
        general
    }
}

/// Whether the first value is stricter: the words of such a key are in this order.
pub fn is_stricter(name: &str, value: Option<&Value>, than: Option<&Value>) -> bool {
    let rank = |value: Option<&Value>| match (key(name)?.kind, value?) {
        (Kind::OneOf(words), Value::Text(text)) => words.iter().position(|word| word == text),
        _ => None,
    };
    rank(value) > rank(than)
}
