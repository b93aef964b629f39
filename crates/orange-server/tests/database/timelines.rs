//! A database that was restored or promoted.

use orange_fleet::ids::{Epoch, Incarnation, Timeline};
use orange_fleet::message::{Adopt, Beat, BeatAnswer, HeldTask};
use postgres_fixture::Fsync;

use crate::fixture::{self, creation, org, registration, request_for_work, runner, task};

#[tokio::test(flavor = "multi_thread")]
async fn a_new_timeline_has_new_epochs_and_waits_with_claims() {
    let mut fixture = fixture::start(Fsync::On).await;
    let name = runner("r");
    let database = fixture.database.clone();
    for name in ["held", "waiting"] {
        database.create(&org("o"), &creation(name)).await.unwrap();
    }
    database
        .register(&org("o"), &name, &registration("r"))
        .await
        .unwrap();
    let work = database
        .work(&org("o"), &name, &request_for_work(1))
        .await
        .unwrap();
    let claim = work.claims[0].clone();
    assert_eq!(claim.epoch, Epoch::compose(Timeline(1), 1));
    let before = database.changes(&org("o"), None, 0, 10).await.unwrap();

    // A crash is no new history.
    fixture.cluster.crash().unwrap();
    drop(database);
    let database = fixture::connect(&fixture.cluster).await;
    let adopt = |seen, held| Adopt {
        task: task("held"),
        incarnation: Incarnation(1),
        seen,
        held,
    };
    let adopted = database
        .adopt(&org("o"), &name, &adopt(claim.epoch, None))
        .await
        .unwrap();
    let epoch = adopted.claim.unwrap().epoch;
    assert_eq!(epoch, Epoch::compose(Timeline(1), 2));

    fixture.cluster.restore().unwrap();
    let database = fixture::connect(&fixture.cluster).await;
    let client = fixture::client(&fixture.cluster).await;
    // What a restore to an earlier point would have lost.
    let lose =
        "update orange.task set incarnation = null, holder = null, epoch = 0 where id = 'held'";
    client.execute(lose, &[]).await.unwrap();
    let beat = Beat {
        home: registration("r").home,
        incarnation: Incarnation(1),
        held: vec![HeldTask {
            task: task("held"),
            epoch,
            acknowledged: claim.head.version,
        }],
        free: 0,
        parked: [].into(),
        activity: orange_fleet::json::Json::null(),
    };
    let none = database
        .work(&org("o"), &name, &request_for_work(9))
        .await
        .unwrap();
    assert!(
        none.claims.is_empty(),
        "no coordinator has marked the new timeline yet"
    );
    assert!(database.mark().await.unwrap());
    let none = database
        .work(&org("o"), &name, &request_for_work(9))
        .await
        .unwrap();
    assert!(none.claims.is_empty(), "runners speak first");
    let BeatAnswer::Alive { lost, yours, .. } =
        database.beat(&org("o"), &name, &beat).await.unwrap()
    else {
        unreachable!("the lease runs");
    };
    assert_eq!((lost.len(), yours.len()), (0, 1));
    let adopted = database
        .adopt(&org("o"), &name, &adopt(yours[0].epoch, Some(epoch)))
        .await
        .unwrap();
    assert_eq!(adopted.claim.unwrap().epoch, Epoch::compose(Timeline(2), 1));
    database
        .create(&org("o"), &creation("later"))
        .await
        .unwrap();
    let after = database
        .changes(&org("o"), None, before.next, 10)
        .await
        .unwrap();
    assert_eq!(after.rows.len(), 1, "the feed goes on");
    assert_eq!(after.rows[0].task, task("later"));
    client
        .execute("update orange.coordinator set claims_from = 0", &[])
        .await
        .unwrap();
    let work = database
        .work(&org("o"), &name, &request_for_work(9))
        .await
        .unwrap();
    assert_eq!(work.claims.len(), 2);
}
