//! The client of the sink: pooled connections, and an honest account of what is known at the end.

use std::io;
use std::net::Ipv4Addr;

use haft_core::{ErrorKind, ToolError};
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::dice;
use crate::fail::fail_point;

/// What a request came to, as far as it can be known.
pub(super) enum Came {
    /// Done, with this receipt.
    Done(u64),
    /// Certainly not done.
    NotDone(&'static str),
    /// Nobody knows.
    Lost(&'static str),
}

pub(super) struct Provider {
    port: u16,
    closed: u16,
    idle: Mutex<Vec<BufReader<TcpStream>>>,
}

impl Provider {
    pub(super) fn new(port: u16, closed: u16) -> Self {
        Self { port, closed, idle: Mutex::default() }
    }

    async fn connection(&self, item: &str, call: &str) -> io::Result<BufReader<TcpStream>> {
        // Now and then nobody is there.
        let refused = dice::permille(&["refused", item]) < 30 && dice::permille(&[call]) < 700;
        if !refused && let Some(idle) = self.idle.lock().pop() {
            return Ok(idle);
        }
        let port = if refused { self.closed } else { self.port };
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await?;
        stream.set_nodelay(true)?;
        Ok(BufReader::new(stream))
    }

    /// Asks the sink to act.
    pub(super) async fn act(&self, tool: &str, item: &str, call: &str, key: &str) -> Came {
        let Ok(mut connection) = self.connection(item, call).await else {
            return Came::NotDone("the provider cannot be reached");
        };
        match exchange(&mut connection, &format!("act {tool} {item} "), &format!("{call} {key}\n"))
            .await
        {
            Ok(answer) => {
                let came = read(&answer, item);
                if !matches!(came, Came::Lost(_)) {
                    self.idle.lock().push(connection);
                }
                came
            }
            Err(_) => Came::Lost("the provider's answer was lost"),
        }
    }

    /// Asks the sink whether it acted.
    pub(super) async fn probe(&self, tool: &str, item: &str) -> Result<bool, ToolError> {
        let failed = |_| ToolError::new(ErrorKind::Transient, "the provider cannot be asked");
        let mut connection = self.connection("", "").await.map_err(failed)?;
        let answer = exchange(&mut connection, "probe ", &format!("{tool} {item}\n"))
            .await
            .map_err(failed)?;
        self.idle.lock().push(connection);
        Ok(answer.trim_end() == "yes")
    }
}

/// Sends a request in two parts, and reads the line that comes back.
async fn exchange(
    connection: &mut BufReader<TcpStream>,
    first: &str,
    rest: &str,
) -> io::Result<String> {
    connection.get_mut().write_all(first.as_bytes()).await?;
    fail_point("mid_body").await;
    connection.get_mut().write_all(rest.as_bytes()).await?;
    connection.get_ref().readable().await?;
    fail_point("after_effect").await;
    let mut answer = String::new();
    connection.read_line(&mut answer).await?;
    match answer.ends_with('\n') {
        true => Ok(answer),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn read(answer: &str, item: &str) -> Came {
    let words: Vec<&str> = answer.trim_end().split(' ').collect();
    match *words.as_slice() {
        ["ok", receipt, of] if of == item => match receipt.parse() {
            Ok(receipt) => Came::Done(receipt),
            Err(_) => Came::Lost("the provider's answer cannot be read"),
        },
        ["no"] => Came::NotDone("the provider declined"),
        _ => Came::Lost("the provider failed"),
    }
}
