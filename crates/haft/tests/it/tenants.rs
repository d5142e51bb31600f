//! Two tenants that use the same service, each with an account of its own.

use std::thread;

use serde_json::json;

use crate::project::Project;
use crate::server::Server;
use crate::service::keeping_service;

const TENANTS: [&str; 2] = ["acme", "globex"];
const ROUNDS: usize = 6;

fn secret(tenant: &str) -> String {
    format!("secret-of-{tenant}-5e1f0b7a")
}

/// Both tenants have a key, an agent and a connection; all are called the same.
fn set_up(port: u16) -> (Project, Vec<(String, &'static str)>) {
    let project = Project::new();
    let document = json!({"openapi": "3.1.0", "servers": [{"url": format!("http://127.0.0.1:{port}")}],
        "paths": {"/me": {"get": {"operationId": "me"}}}});
    project.write("api.json", &document.to_string());
    let mut config =
        "toolset = \"api\"\n[policy]\nallow = [\"*\"]\n[http]\nallow = [\"127.0.0.1\"]\n\
        [server]\nlog = \"json\"\n"
            .to_owned();
    let mut keys = Vec::new();
    for (at, tenant) in TENANTS.into_iter().enumerate() {
        let (key, sha256) = haft_server::who::mint(tenant, &[at as u8 + 1; 32]);
        project.write(&format!("{tenant}.token"), &secret(tenant));
        config += &format!(
            "[[tenants]]\nid = \"{tenant}\"\n\
             [[agents]]\nid = \"helper\"\ntenant = \"{tenant}\"\nconnections = {{ tracker = \"work\" }}\n\
             [[keys]]\nid = \"{tenant}\"\nsha256 = \"{sha256}\"\ntenant = \"{tenant}\"\n\
             principal = \"user:gus\"\nroles = [\"operator\"]\n\
             [[connections.accounts]]\nid = \"work\"\ntenant = \"{tenant}\"\nprovider = \"tracker\"\n\
             kind = \"bearer\"\nhosts = [\"127.0.0.1\"]\nsecret_file = \"{tenant}.token\"\n\
             [[grants]]\nconnection = \"work\"\nprovider = \"tracker\"\ntenant = \"{tenant}\"\n\
             principals = [\"*\"]\ntools = [\"*\"]\n"
        );
        keys.push((key, tenant));
    }
    project.write("haft.toml", &config);
    let said = project.run(&["import", "api.json", "--toolset", "api", "--provider", "tracker"]);
    assert_eq!(said.code, 0, "{said:?}");
    std::fs::remove_file(project.folder.join("toolset.toml")).unwrap();
    (project, keys)
}

#[test]
fn tenants_share_no_connection_no_cookie_and_no_credentials() {
    let (port, seen) = keeping_service();
    let (project, keys) = set_up(port);
    let server = Server::start(&project);
    let call = |key: &str| {
        let body = json!({"tool": "me", "arguments": {}});
        let (status, told) =
            server.send_as(key, "POST", "/v1/agents/helper/calls", Some(body)).unwrap();
        assert_eq!((status, &told["ok"]), (200, &json!(true)), "{told}");
    };
    // One after the other, which is when a connection would be used again, and both at once.
    keys.iter().cycle().take(ROUNDS).for_each(|(key, _)| call(key));
    thread::scope(|scope| {
        for (key, _) in keys.iter().cycle().take(ROUNDS) {
            scope.spawn(|| call(key));
        }
    });
    server.stop();
    let seen: Vec<(usize, String)> = seen.try_iter().collect();
    assert_eq!(seen.len(), 2 * ROUNDS);
    let mut connections: Vec<usize> = seen.iter().map(|(connection, _)| *connection).collect();
    connections.sort_unstable();
    connections.dedup();
    assert_eq!(connections.len(), seen.len(), "each request has a connection of its own");
    for tenant in TENANTS {
        let own = seen.iter().filter(|(_, request)| request.contains(&secret(tenant))).count();
        assert_eq!(own, ROUNDS, "{tenant}");
    }
    for (_, request) in &seen {
        assert!(!request.to_ascii_lowercase().contains("\r\ncookie:"), "{request}");
        assert_eq!(request.matches("secret-of-").count(), 1, "{request}");
    }
}
