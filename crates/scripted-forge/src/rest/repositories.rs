//! Accounts, quota, repositories, permissions and branch protection.

use serde_json::{Value, json};

use super::context::{Context, Outcome};
use super::render::Render;
use crate::http::Answer;
use crate::world::quota::{Rate, Resource};
use crate::world::repository::Permission;

impl Context<'_> {
    pub(super) fn render(&self) -> Render<'_> {
        Render {
            world: self.world,
            base: &self.base,
        }
    }
}

pub fn own_account(context: &mut Context) -> Outcome {
    let user = context.world.living_user(&context.viewer);
    let user = user.ok_or_else(|| Answer::error(401, "Bad credentials"))?;
    Ok(Answer::json(200, context.render().own_account(user)))
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "the form of every handler; this one always succeeds"
)]
pub fn rate_limit(context: &mut Context) -> Outcome {
    let (viewer, now) = (context.viewer.clone(), context.world.now());
    let mut rate = |resource| *context.world.quota.rate(&viewer, resource, now);
    let show = |rate: Rate| {
        json!({
            "limit": rate.limit, "used": rate.used, "remaining": rate.remaining(),
            "reset": rate.reset,
        })
    };
    let (core, graphql) = (show(rate(Resource::Core)), show(rate(Resource::Graphql)));
    let search = json!({ "limit": 30, "used": 0, "remaining": 30, "reset": now + 60 });
    Ok(Answer::json(
        200,
        json!({
            "resources": { "core": core, "graphql": graphql, "search": search }, "rate": core,
        }),
    ))
}

pub fn get(context: &mut Context) -> Outcome {
    let repository = context.repository()?;
    let mut shown = context.render().repository(repository);
    shown["permissions"] = Render::permissions(context.permission(repository));
    Ok(Answer::json(200, shown))
}

pub fn permission(context: &mut Context) -> Outcome {
    let repository = context.repository()?;
    if context.permission(repository) < Permission::Write {
        return Err(Answer::error(
            403,
            "Must have push access to view collaborator permission.",
        ));
    }
    let user = context.world.living_user(context.part("username"));
    let user = user.ok_or_else(|| Answer::error(404, "Not Found"))?;
    let permission = context.world.permission(repository, &user.login);
    let mut shown = context.render().user(&user.login);
    shown["permissions"] = Render::permissions(permission);
    shown["role_name"] = Value::from(permission.role());
    Ok(Answer::json(
        200,
        json!({
            "permission": permission.legacy(), "role_name": permission.role(), "user": shown,
        }),
    ))
}

pub fn required_checks(context: &mut Context) -> Outcome {
    let repository = context.repository()?;
    let branch = context.part("branch");
    if context.permission(repository) < Permission::Write {
        return Err(Answer::error(404, "Not Found"));
    }
    if !repository.branches.contains_key(branch) {
        return Err(Answer::error(404, "Branch not found"));
    }
    let Some(protection) = repository.protections.get(branch) else {
        return Err(Answer::error(404, "Branch not protected"));
    };
    if protection.required_checks.is_empty() {
        return Err(Answer::error(404, "Required status checks not enabled"));
    }
    let url = format!("{}/repos/{}", context.base, repository.full_name());
    let url = format!("{url}/branches/{branch}/protection/required_status_checks");
    let names = &protection.required_checks;
    let checks: Vec<Value> = names
        .iter()
        .map(|it| json!({ "context": it, "app_id": null }))
        .collect();
    Ok(Answer::json(
        200,
        json!({
            "url": url, "contexts_url": format!("{url}/contexts"), "strict": protection.strict,
            "contexts": names, "checks": checks,
        }),
    ))
}

/// The rules of rulesets for a branch, which need not exist. Read permission is enough to see them.
pub fn branch_rules(context: &mut Context) -> Outcome {
    let repository = context.repository()?;
    let protection = repository.protection(context.part("branch"));
    let mut rules = Vec::new();
    if !protection.ruleset_checks.is_empty() {
        let names = protection.ruleset_checks.iter();
        let checks: Vec<Value> = names.map(|it| json!({ "context": it })).collect();
        let parameters = json!({
            "required_status_checks": checks,
            "strict_required_status_checks_policy": protection.strict,
        });
        rules = [
            json!({ "type": "deletion" }),
            json!({
                "type": "required_status_checks", "parameters": parameters,
            }),
        ]
        .map(|mut rule| {
            rule["ruleset_source_type"] = Value::from("Repository");
            rule["ruleset_source"] = Value::from(repository.full_name());
            rule["ruleset_id"] = Value::from(repository.id);
            rule
        })
        .to_vec();
    }
    let (shown, answer) = context.page(&rules, Value::clone);
    Ok(Answer {
        headers: answer.headers,
        ..Answer::json(200, Value::Array(shown))
    })
}
