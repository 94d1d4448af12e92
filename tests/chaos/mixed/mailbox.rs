//! A mail server that accepts everything and lists what it got.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

pub(super) struct Mailbox {
    port: u16,
    messages: Arc<Mutex<Vec<String>>>,
    accepting: JoinHandle<()>,
}

impl Mailbox {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let messages = Arc::<Mutex<Vec<String>>>::default();
        let into = Arc::clone(&messages);
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let into = Arc::clone(&into);
                // Errors are ignored: a killed gateway closes its connections at any point.
                connections.spawn(async move { drop(talk(stream, &into).await) });
            }
        });
        Self {
            port,
            messages,
            accepting,
        }
    }

    pub(super) fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}?tls=none", self.port)
    }

    /// The id of each message that was accepted.
    pub(super) fn messages(&self) -> Vec<String> {
        self.messages.lock().clone()
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn talk(stream: TcpStream, messages: &Mutex<Vec<String>>) -> std::io::Result<()> {
    let (reading, mut writing) = stream.into_split();
    let mut lines = BufReader::new(reading).lines();
    writing.write_all(b"220 mailbox\r\n").await?;
    while let Some(line) = lines.next_line().await? {
        let answer: &[u8] = match line.split(' ').next() {
            Some("DATA") => {
                writing.write_all(b"354 go on\r\n").await?;
                let mut id = None;
                while let Some(line) = lines.next_line().await?
                    && line != "."
                {
                    let value = line.strip_prefix("Message-ID: ");
                    id = id.or(value.map(ToOwned::to_owned));
                }
                messages.lock().push(id.expect("every message has an id"));
                b"250 accepted\r\n"
            }
            Some("QUIT") => return writing.write_all(b"221 bye\r\n").await,
            _ => b"250 fine\r\n",
        };
        writing.write_all(answer).await?;
    }
    Ok(())
}
