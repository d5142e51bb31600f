//! A server as it is on its first day, to whoever has no key.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::Value;

use crate::project::Project;
use crate::server::Server;

/// What comes back for exactly this, without a credential: the status and all of it.
fn bare(address: &str, method: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}"
    )
    .unwrap();
    let mut reply = String::new();
    let _ = stream.read_to_string(&mut reply);
    (reply.get(9..12).and_then(|code| code.parse().ok()).unwrap_or(0), reply)
}

/// Those that are for everybody, and say nothing about anybody.
fn is_open(path: &str) -> bool {
    ["/healthz", "/readyz", "/errors/", "/v1/openapi.json"].iter().any(|one| path.starts_with(one))
}

#[test]
fn a_fresh_installation_lets_nobody_in_without_a_key() {
    let project = Project::new();
    let server = Server::start(&project);
    let address = server.address();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    let (status, document) = bare(address, "GET", "/v1/openapi.json");
    assert_eq!(status, 200);
    let document: Value = serde_json::from_str(document.split_once("\r\n\r\n").unwrap().1).unwrap();
    let mut tried = 0;
    for (route, methods) in document["paths"].as_object().unwrap() {
        let path = route.replace(['{', '}'], "x");
        for method in methods.as_object().unwrap().keys().filter(|_| !is_open(&path)) {
            let (status, reply) = bare(address, &method.to_uppercase(), &path);
            assert_eq!(status, 401, "{method} {path}: {reply}");
            tried += 1;
        }
    }
    assert!(tried > 60, "only {tried} were tried");
    // Nor by the ways that the document does not have.
    for (method, path) in [
        ("GET", "/metrics"),
        ("POST", "/mcp"),
        ("GET", "/mcp"),
        ("DELETE", "/mcp"),
        ("POST", "/mcp/default"),
    ] {
        let (status, reply) = bare(address, method, path);
        assert_eq!(status, 401, "{method} {path}: {reply}");
    }
    for path in ["", "/tools", "/keys", "/connections", "/policies", "/audit", "/events/stream"] {
        let (status, reply) = bare(address, "GET", &format!("/console{path}"));
        assert!(status == 303 && reply.contains("/console/sign-in"), "{path}: {reply}");
        assert!(!reply.contains("shop__"), "{path}: {reply}");
    }
    // What there usually is by mistake.
    for path in ["/debug", "/debug/pprof/", "/v1/debug", "/admin", "/.env", "/.haft/admin.key"] {
        assert_eq!(bare(address, "GET", path).0, 401, "{path}");
        assert_eq!(server.send("GET", path, None).unwrap().0, 404, "{path}");
    }
    // No password that anybody could guess, and the key that there is, is its owner's.
    for guess in ["admin", "haft", "password", "changeme", "haft_admin_", ""] {
        let found = server.send_as(guess, "GET", "/v1/admin/keys", None).unwrap().0;
        assert_eq!(found, 401, "{guess}");
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        for file in [".haft/admin.key", ".haft/haft.db"] {
            let mode = std::fs::metadata(project.folder.join(file)).unwrap().permissions().mode();
            assert_eq!(mode & 0o077, 0, "{file} can be read by others");
        }
    }
    server.stop();
    // It does not listen to other machines by accident either.
    let wide = project.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert!(wide.code != 0 && wide.err.contains("server.hosts"), "{wide:?}");
}
