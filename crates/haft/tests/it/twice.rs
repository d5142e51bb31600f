//! One approval, handed to two processes on one database at the same moment.

use std::sync::Barrier;
use std::thread;

use serde_json::{Value, json};

use crate::server::Server;
use crate::service::{service, shop};

const ORDERS: &str = "/v1/agents/default/calls";

#[test]
fn an_approval_that_two_processes_use_at_once_is_one_effect() {
    const ROUNDS: usize = 8;
    // A person has to approve first.
    let (port, seen) = service();
    let project = shop(port, "approve = [\"external_side_effect\"]", "");
    let servers = [Server::start(&project), Server::start(&project)];
    for round in 0..ROUNDS {
        let order = |key: &str, token: Option<&Value>| {
            json!({"tool": "buy", "arguments": {"item": format!("lamp {round}")},
                "idempotency_key": format!("{key}-{round}"), "confirmation": token})
        };
        let (_, asked) = servers[0].send("POST", ORDERS, Some(order("asks", None))).unwrap();
        assert_eq!(asked["error"]["kind"], "confirmation_required", "{asked}");
        let id = asked.pointer("/error/details/confirmation/id").unwrap().as_str().unwrap();
        let (code, approved) =
            project.json(&["confirmations", "approve", id, "--as", "user:mara", "--json"]);
        assert_eq!(code, 0, "{approved}");
        let (both, token) = (Barrier::new(2), &approved["token"]);
        let told: Vec<Value> = thread::scope(|scope| {
            let sent = [("one", &servers[0]), ("other", &servers[1])].map(|(key, server)| {
                let (both, body) = (&both, order(key, Some(token)));
                scope.spawn(move || {
                    both.wait();
                    server.send("POST", ORDERS, Some(body)).unwrap().1
                })
            });
            sent.map(|one| one.join().unwrap()).into()
        });
        let done = told.iter().filter(|one| one["ok"] == true).count();
        assert_eq!(done, 1, "round {round}: {told:?}");
        let refused = told.iter().find(|one| one["ok"] == false).unwrap();
        assert_eq!(refused["error"]["kind"], "confirmation_refused", "{refused}");
    }
    servers.into_iter().for_each(Server::stop);
    assert_eq!(seen.try_iter().count(), ROUNDS, "so often something was ordered");
}
