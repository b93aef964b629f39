//! The same ids in two organisations never meet.

use orange_fleet::chain::Sha;
use orange_fleet::ids::{Incarnation, OrgId, PersonId, ProjectId, RequestKey};
use orange_fleet::json::Json;
use orange_fleet::message::{
    Adopt, Append, AppendResult, Beat, BeatAnswer, GiveBack, HoldingAnswer, MailAnswer, MailResult,
    PostRequest, RegisterAnswer, Rest, TaskAppend, Text, Wip,
};
use orange_server::database::NewToken;

use crate::fixture::{
    self, commit, creation, org, registration, request_for_work, runner, summary, task,
};
use crate::rows;

fn project() -> ProjectId {
    ProjectId::new("coffee")
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::too_many_lines, reason = "a list of all calls")]
async fn every_call_stays_in_its_organisation() {
    let fixture = fixture::start_with_clock().await;
    let (database, client) = (&fixture.database, &fixture.client);
    let (ours, theirs) = (org("ours"), org("theirs"));
    let (name, id, ann) = (runner("r"), task("t"), PersonId::new("ann"));
    let secret = "a text of theirs".to_owned();
    let text = Text {
        sha: Sha::of(secret.as_bytes()),
        content: secret.clone(),
    };

    database.create(&theirs, &creation("t")).await.unwrap();
    database
        .register(&theirs, &name, &registration("r"))
        .await
        .unwrap();
    let work = database
        .work(&theirs, &name, &request_for_work(1))
        .await
        .unwrap();
    let claim = work.claims[0].clone();
    let mut next = commit(claim.head, "next", None);
    next = orange_fleet::chain::Commit::new(claim.head, next.events, vec![text.sha], None).unwrap();
    let append = Append {
        tasks: vec![TaskAppend {
            task: id.clone(),
            epoch: claim.epoch,
            base: claim.head.version,
            commits: vec![next],
            texts: vec![text.clone()],
            summary: summary("open"),
        }],
    };
    let post = PostRequest {
        key: RequestKey::new("k"),
        ask: Json::null(),
    };
    let mail = database
        .post(&theirs, &ann, &id, &post)
        .await
        .unwrap()
        .unwrap()
        .id;
    let token = NewToken {
        sha: Sha::of(b"token"),
        kind: "runner".to_owned(),
        subject: "r".to_owned(),
        roles: Json::null(),
        projects: None,
        lifetime: None,
    };
    assert!(database.insert_token(&theirs, &token).await.unwrap());
    let before = rows::ledger(client, &theirs).await;
    assert_eq!(
        (before.tasks.len(), before.mail.len(), before.runners.len()),
        (1, 1, 1)
    );

    // With their ids, and the epoch that only they know.
    let fenced = database.append(&ours, &name, &append).await.unwrap().tasks[0].result;
    assert_eq!(fenced, AppendResult::Fenced);
    assert_eq!(
        database
            .append(&theirs, &name, &append)
            .await
            .unwrap()
            .tasks[0]
            .result,
        AppendResult::Ok {
            version: append.tasks[0].commits[0].last
        }
    );
    let before = rows::ledger(client, &theirs).await;
    let seen = stale(&database.beat(&ours, &name, &beat()).await.unwrap());
    assert_eq!(seen, Incarnation(0));
    assert!(
        database
            .work(&ours, &name, &request_for_work(9))
            .await
            .unwrap()
            .claims
            .is_empty()
    );
    let give_back = GiveBack {
        task: id.clone(),
        epoch: claim.epoch,
        rest: Rest::Offered,
    };
    let adopt = Adopt {
        task: id.clone(),
        incarnation: Incarnation(1),
        seen: claim.epoch,
        held: Some(claim.epoch),
    };
    let wip = Wip {
        epoch: claim.epoch,
        number: 1,
        base: "b".to_owned(),
        bundle: String::new(),
        document: String::new(),
        imported: None,
    };
    let answer = MailAnswer {
        task: id.clone(),
        epoch: claim.epoch,
        answer: Json::null(),
    };
    assert_eq!(
        database.give_back(&ours, &name, &give_back).await.unwrap(),
        HoldingAnswer::Fenced
    );
    assert_eq!(
        database.adopt(&ours, &name, &adopt).await.unwrap().claim,
        None
    );
    assert_eq!(
        database.save_wip(&ours, &name, &id, &wip).await.unwrap(),
        HoldingAnswer::Fenced
    );
    let answered = database
        .answer_mail(&ours, &name, &mail, &answer)
        .await
        .unwrap();
    assert_eq!(answered, MailResult::Fenced);
    assert_eq!(database.post(&ours, &ann, &id, &post).await.unwrap(), None);
    assert_eq!(database.request(&ours, &mail).await.unwrap(), None);
    assert_eq!(database.view(&ours, &id).await.unwrap(), None);
    assert_eq!(database.project(&ours, &id).await.unwrap(), None);
    assert!(
        database
            .changes(&ours, None, 0, 10)
            .await
            .unwrap()
            .rows
            .is_empty()
    );
    assert_eq!(database.text(&ours, None, &text.sha).await.unwrap(), None);
    assert!(!database.revoke_token(&ours, &token.sha).await.unwrap());
    assert!(database.tokens(&ours).await.unwrap().is_empty());
    assert_eq!(
        rows::ledger(client, &theirs).await,
        before,
        "nothing of theirs has changed"
    );
    let nothing = orange_fleet::ledger::Ledger::new(ours.clone(), before.terms);
    let left = rows::ledger(client, &ours).await;
    assert_eq!(
        (left.tasks, left.runners, left.mail),
        (nothing.tasks, nothing.runners, nothing.mail)
    );

    // The same ids are free here.
    let registered = database
        .register(&ours, &name, &registration("r"))
        .await
        .unwrap();
    assert!(matches!(registered, RegisterAnswer::Registered { .. }));
    assert!(
        database
            .work(&ours, &name, &request_for_work(9))
            .await
            .unwrap()
            .claims
            .is_empty()
    );
    assert_eq!(
        database.adopt(&ours, &name, &adopt).await.unwrap().claim,
        None
    );
    let mut own = creation("t");
    own.commits = vec![commit(orange_fleet::chain::Head::default(), "ours", None)];
    database.create(&ours, &own).await.unwrap();
    let work = database
        .work(&ours, &name, &request_for_work(9))
        .await
        .unwrap();
    assert_eq!((work.claims.len(), work.mail.len()), (1, 0));
    assert_eq!(work.claims[0].commits, own.commits);
    assert_eq!(
        database
            .answer_mail(&ours, &name, &mail, &answer)
            .await
            .unwrap(),
        MailResult::Fenced
    );
    let posted = database
        .post(&ours, &ann, &id, &post)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(posted.id, mail, "ids count within an organisation");
    database
        .answer_mail(&ours, &name, &mail, &answer)
        .await
        .unwrap();
    assert_eq!(
        rows::ledger(client, &theirs).await,
        before,
        "nothing of theirs has changed"
    );
    texts_belong_to_projects(database, &theirs, &text).await;
}

async fn texts_belong_to_projects(
    database: &orange_server::database::Database,
    org: &OrgId,
    text: &Text,
) {
    let other = [ProjectId::new("tea")];
    assert_eq!(
        database.text(org, Some(&other), &text.sha).await.unwrap(),
        None
    );
    let stored = database
        .text(org, Some(&[project()]), &text.sha)
        .await
        .unwrap();
    assert_eq!(stored.as_ref(), Some(&text.content));
    assert!(
        database
            .changes(org, Some(&other), 0, 10)
            .await
            .unwrap()
            .rows
            .is_empty()
    );
    let passed = database.changes(org, Some(&other), 0, 10).await.unwrap();
    let again = database.changes(org, None, passed.next, 10).await.unwrap();
    assert!(
        passed.next > 0 && again.rows.is_empty(),
        "others are passed over"
    );
    let changes = database
        .changes(org, Some(&[project()]), 0, 10)
        .await
        .unwrap();
    assert_eq!(changes.rows.len(), 2);
}

fn beat() -> Beat {
    Beat {
        home: registration("r").home,
        incarnation: Incarnation(1),
        held: Vec::new(),
        free: 0,
        parked: [].into(),
        activity: Json::null(),
    }
}

fn stale(answer: &BeatAnswer) -> Incarnation {
    match answer {
        BeatAnswer::Stale { incarnation, .. } => *incarnation,
        BeatAnswer::Alive { .. } => unreachable!("another organisation's runner is alive here"),
    }
}
