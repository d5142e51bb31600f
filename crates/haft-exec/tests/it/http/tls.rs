//! Who answers must prove who it is.

use std::sync::Arc;
use std::time::Duration;

use haft_core::port::Ended;
use haft_exec::http::{Client, Settings};
use rcgen::{CertificateParams, KeyPair};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::rig::{Names, local, tool, within};
use crate::rig::{data, error};

struct Sham {
    port: u16,
    certificate: Vec<u8>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Sham {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A server with a certificate of its own making, in this name, good until then.
async fn server(name: &str, year: i32) -> Sham {
    let key = KeyPair::generate().unwrap();
    let mut parameters = CertificateParams::new(vec![name.to_owned()]).unwrap();
    parameters.not_after = rcgen::date_time_ymd(year, 1, 1);
    let certificate = parameters.self_signed(&key).unwrap().der().to_vec();
    let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone().into()], private)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let task = tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).await;
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await;
            let _ = stream.shutdown().await;
        }
    });
    Sham { port, certificate, task }
}

async fn get(server: &Sham, trusted: bool) -> Ended {
    let roots = if trusted { vec![server.certificate.clone()] } else { Vec::new() };
    let settings = Settings { roots, ..local() };
    let names = Names(vec!["127.0.0.1".parse().unwrap()]);
    let client = Arc::new(Client::resolving(settings, Arc::new(names)));
    let gateway =
        json!({"method": "POST", "url": format!("https://api.example.com:{}/", server.port)});
    within(client, tool(gateway), json!({}), Duration::from_secs(5), None).await
}

#[tokio::test]
async fn a_certificate_must_be_trusted_current_and_of_that_name() {
    data(get(&server("api.example.com", 2099).await, true).await);
    for (name, year, trusted) in [
        ("api.example.com", 2099, false),
        ("api.example.com", 2020, true),
        ("other.example.com", 2099, true),
    ] {
        let (how, error) = error(get(&server(name, year).await, trusted).await);
        assert_eq!(how, "not begun", "{name} {year} {trusted}: {error:?}");
    }
}
