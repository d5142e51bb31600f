//! haft as `haft serve` puts it together: keys, metrics, events, the whole path. The key is printed.

use std::sync::Arc;

use haft_bench::fixture::{Answer, Fixture};
use haft_core::Principal;
use haft_core::contract::SideEffectPolicy;
use haft_core::port::Store;
use haft_server::who::facts::Facts;
use haft_server::who::{Key, Keys, Role, hash_of};
use haft_server::{Door, Hub, Limits, Metrics};
use haft_store::{Memory, Options, Sqlite};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

const KEY: &str = "haft_bench_00000000000000000000000000000000";

pub async fn serve(listener: TcpListener, fixture: &Fixture, store: &str, tools: usize) {
    let program = std::env::current_exe().unwrap();
    let folder = tempfile::tempdir_in(program.parent().unwrap()).unwrap();
    let store: Arc<dyn Store> = match store {
        "memory" => Arc::new(Memory::new()),
        "sqlite" => Arc::new(Sqlite::open(folder.path().join("doors.db"), Options::default()).unwrap()),
        other => panic!("`{other}` is no store"),
    };
    let (hub, metrics) = (Hub::default(), Arc::new(Metrics::default()));
    let runtime = fixture
        .builder(tools, SideEffectPolicy::Pure, Answer::Text, store)
        .publish(Arc::new(hub.clone()))
        .observe(metrics.clone())
        .build()
        .unwrap();
    let key = Key {
        id: "bench".to_owned(),
        sha256: hash_of(KEY),
        tenant: "default".to_owned(),
        principal: Principal::agent("default"),
        subject: None,
        roles: vec![Role::Agent],
        agents: None,
        name: None,
        expires: None,
        user: Facts::default(),
    };
    let hosts = vec!["127.0.0.1".to_owned()];
    let door = Door::new(runtime, hub, Keys::load(&[key]).unwrap(), hosts, Limits::default());
    let mut told = signal(SignalKind::terminate()).unwrap();
    let stop = async move {
        told.recv().await;
    };
    haft_server::serve(listener, Arc::new(door.metrics(metrics)), stop, std::future::pending()).await;
}
