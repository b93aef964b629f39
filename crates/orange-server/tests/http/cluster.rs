//! A database of the test's own, with the tables of this program.

use postgres_fixture::Fsync;

pub struct Cluster(postgres_fixture::Cluster);

impl Cluster {
    pub fn start() -> Self {
        let cluster = postgres_fixture::Cluster::start(Fsync::Off).unwrap();
        orange_server::migrate(&cluster.url()).unwrap();
        Self(cluster)
    }

    pub fn url(&self) -> String {
        self.0.url()
    }

    /// Runs a statement of the test.
    pub fn run(&self, statement: &str) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(async {
            let connected = tokio_postgres::connect(&self.url(), tokio_postgres::NoTls).await;
            let (client, connection) = connected.unwrap();
            let connection = tokio::spawn(connection);
            client.batch_execute(statement).await.unwrap();
            drop(client);
            connection.await.unwrap().unwrap();
        });
    }
}
