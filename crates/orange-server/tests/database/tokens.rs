//! Tokens: stored, exchanged once, expired and revoked.

use orange_fleet::chain::Sha;
use orange_fleet::ids::ProjectId;
use orange_fleet::json::Json;
use orange_fleet::time::Period;
use orange_server::database::NewToken;

use crate::fixture::{self, org};

fn token(secret: &str, kind: &str, lifetime: Option<Period>) -> NewToken {
    NewToken {
        sha: Sha::of(secret.as_bytes()),
        kind: kind.to_owned(),
        subject: "r".to_owned(),
        roles: Json::new("{ \"coffee\": [\"view\"] }").unwrap(),
        projects: Some(vec![ProjectId::new("coffee")]),
        lifetime,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_exchanged_once() {
    let fixture = fixture::start_with_clock().await;
    let database = &fixture.database;
    let quarter = Period::seconds(15 * 60);
    let join = token("join", "join", Some(quarter));
    assert!(database.insert_token(&org("o"), &join).await.unwrap());
    assert!(!database.insert_token(&org("other"), &join).await.unwrap());
    let stored = database.token(&join.sha).await.unwrap().unwrap();
    assert_eq!((stored.org.as_str(), stored.kind.as_str()), ("o", "join"));
    assert_eq!(
        (&stored.roles, &stored.projects),
        (&join.roles, &join.projects)
    );
    assert!(stored.is_valid() && stored.used_at.is_none());

    let runner = token("runner", "runner", None);
    let wrong = database
        .exchange_token(&join.sha, "login", &runner)
        .await
        .unwrap();
    assert_eq!(wrong, None, "of another kind");
    for _ in 0..2 {
        let exchanged = database
            .exchange_token(&join.sha, "join", &runner)
            .await
            .unwrap();
        let exchanged = exchanged.unwrap();
        assert_eq!((exchanged.org.as_str(), exchanged.sha), ("o", runner.sha));
        assert!(exchanged.is_valid() && exchanged.expires_at.is_none());
    }
    let second = token("second", "runner", None);
    assert_eq!(
        database
            .exchange_token(&join.sha, "join", &second)
            .await
            .unwrap(),
        None
    );
    assert_eq!(database.token(&second.sha).await.unwrap(), None);
    assert!(
        database
            .token(&join.sha)
            .await
            .unwrap()
            .unwrap()
            .used_at
            .is_some()
    );

    assert_eq!(database.tokens(&org("o")).await.unwrap().len(), 2);
    assert!(database.revoke_token(&org("o"), &runner.sha).await.unwrap());
    assert!(!database.revoke_token(&org("o"), &runner.sha).await.unwrap());
    assert!(
        !database
            .token(&runner.sha)
            .await
            .unwrap()
            .unwrap()
            .is_valid()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_old_token_is_not_valid() {
    let fixture = fixture::start_with_clock().await;
    let database = &fixture.database;
    let join = token("join", "join", Some(Period::seconds(60)));
    let revoked = token("revoked", "join", None);
    let endless = token("endless", "join", Some(Period(u64::MAX)));
    for it in [&join, &revoked, &endless] {
        assert!(database.insert_token(&org("o"), it).await.unwrap());
    }
    assert!(
        database
            .revoke_token(&org("o"), &revoked.sha)
            .await
            .unwrap()
    );
    fixture
        .client
        .execute("update public.clock set now = 60000", &[])
        .await
        .unwrap();
    assert!(!database.token(&join.sha).await.unwrap().unwrap().is_valid());
    assert!(
        database
            .token(&endless.sha)
            .await
            .unwrap()
            .unwrap()
            .is_valid()
    );
    let runner = token("runner", "runner", None);
    for sha in [join.sha, revoked.sha, Sha::of(b"unknown")] {
        assert_eq!(
            database
                .exchange_token(&sha, "join", &runner)
                .await
                .unwrap(),
            None
        );
    }
    assert_eq!(database.token(&runner.sha).await.unwrap(), None);
}
