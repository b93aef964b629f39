//! Whether a caller may use an endpoint, before its body is read.

use crate::access::{Caller, Person, Runner};
use crate::http::endpoints::Who;
use crate::http::refusal::Refusal;

/// A caller that an endpoint accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admitted {
    Anyone,
    Runner(Runner),
    Person(Person),
}

/// `named` is the runner in the path. Roles in a project are checked once the project is known.
pub fn admit(who: Who, caller: Option<Caller>, named: Option<&str>) -> Result<Admitted, Refusal> {
    if matches!(who, Who::Anyone | Who::Code) {
        return Ok(Admitted::Anyone);
    }
    let caller = caller.ok_or_else(Refusal::unauthorized)?;
    match (who, caller) {
        (Who::Token | Who::Runner, Caller::Runner(runner)) => Ok(Admitted::Runner(runner)),
        (Who::NamedRunner, Caller::Runner(runner)) if named == Some(runner.id.as_str()) => {
            Ok(Admitted::Runner(runner))
        }
        (Who::Admin, Caller::Person(person)) if !person.roles.admin => {
            Err(Refusal::wrong_caller("an admin"))
        }
        (
            Who::Token | Who::Person(_) | Who::Asker | Who::Maintainer | Who::Admin,
            Caller::Person(person),
        ) => Ok(Admitted::Person(person)),
        (Who::NamedRunner, Caller::Runner(_)) => {
            Err(Refusal::wrong_caller("the runner that its path names"))
        }
        (Who::Runner | Who::NamedRunner, Caller::Person(_)) => {
            Err(Refusal::wrong_caller("a runner"))
        }
        (_, Caller::Runner(_)) | (Who::Anyone | Who::Code, _) => {
            Err(Refusal::wrong_caller("a person"))
        }
    }
}

#[cfg(test)]
mod tests {
    use orange_fleet::ids::{OrgId, PersonId, RunnerId};

    use super::*;
    use crate::access::{Role, Roles, Scope};
    use crate::http::endpoints::ENDPOINTS;

    fn runner() -> Caller {
        Caller::Runner(Runner {
            org: OrgId::new("acme"),
            id: RunnerId::new("each"),
            scope: Scope::default(),
        })
    }

    fn person(admin: bool) -> Caller {
        Caller::Person(Person {
            org: OrgId::new("acme"),
            id: PersonId::new("ann"),
            roles: Roles {
                admin,
                ..Roles::default()
            },
        })
    }

    fn is_admitted(who: Who, caller: Option<Caller>, named: &str) -> bool {
        admit(who, caller, Some(named)).is_ok()
    }

    #[test]
    fn without_a_token_only_codes_and_health_are_answered() {
        for endpoint in &ENDPOINTS {
            let is_open = matches!(
                endpoint.path,
                "/healthz" | "/readyz" | "/v1/join" | "/v1/login"
            );
            assert_eq!(
                is_admitted(endpoint.who, None, "each"),
                is_open,
                "{}",
                endpoint.path
            );
        }
    }

    #[test]
    fn runners_and_people_have_calls_of_their_own() {
        let people = [
            Who::Person(Role::View),
            Who::Asker,
            Who::Maintainer,
            Who::Admin,
        ];
        for who in people {
            assert!(!is_admitted(who, Some(runner()), "each"), "{who:?}");
            assert!(is_admitted(who, Some(person(true)), "each"), "{who:?}");
        }
        for who in [Who::Runner, Who::NamedRunner] {
            assert!(is_admitted(who, Some(runner()), "each"), "{who:?}");
            assert!(!is_admitted(who, Some(person(true)), "each"), "{who:?}");
        }
        assert!(!is_admitted(Who::NamedRunner, Some(runner()), "other"));
        assert!(!is_admitted(Who::Admin, Some(person(false)), "each"));
    }
}
