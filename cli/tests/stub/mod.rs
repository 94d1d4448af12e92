//! A gateway that returns prepared responses, one per connection, and records the requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

/// A response as bytes on the wire.
pub(crate) fn answer(status: u16, json: &str) -> String {
    format!(
        "HTTP/1.1 {status} x\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{json}",
        json.len()
    )
}

pub(crate) struct Gateway {
    url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Gateway {
    /// Returns these responses in order, then closes.
    pub(crate) fn start<const N: usize>(answers: [String; N]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        std::thread::spawn(move || {
            for (answer, stream) in answers.into_iter().zip(listener.incoming()) {
                let mut stream = stream.unwrap();
                seen.lock().unwrap().push(read_request(&stream));
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        Self { url, requests }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Each request as text, head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

fn read_request(stream: &std::net::TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut request = String::new();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        request.push_str(&line);
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    request + &String::from_utf8(body).unwrap()
}
