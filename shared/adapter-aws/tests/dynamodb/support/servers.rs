//! DynamoDB Local and MiniStack, started by the first test that needs them and shared by all processes. They stop
//! automatically when no test has used them for a while.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// How many DynamoDB Locals there are: each handles one call at a time.
const DYNAMODBS: u32 = 2;

/// Held by this process until it ends.
static IN_USE: OnceLock<File> = OnceLock::new();

#[derive(Clone, Copy, Debug)]
pub(crate) struct Servers {
    pub(crate) dynamodb: SocketAddr,
    pub(crate) ministack: SocketAddr,
}

/// The running servers. Blocks until they are ready.
pub(crate) fn servers() -> Servers {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tmp/aws-servers");
    fs::create_dir_all(&dir).unwrap();
    IN_USE.get_or_init(|| {
        let file = open(&dir.join("in-use"));
        file.lock_shared().unwrap();
        file
    });
    let start = open(&dir.join("start"));
    start.lock().unwrap();
    let which = std::process::id() % DYNAMODBS;
    Servers {
        dynamodb: running(&dir, &format!("dynamodb-local-{which}"), dynamodb_local),
        ministack: running(&dir, "ministack", ministack),
    }
}

fn open(path: &Path) -> File {
    let mut options = File::options();
    options.create(true).append(true).open(path).unwrap()
}

/// The running server, or a new one. Called while no other process may start one.
fn running(dir: &Path, name: &str, command: fn(u16) -> Command) -> SocketAddr {
    let port_file = dir.join(name);
    let running_at = fs::read_to_string(&port_file).ok();
    let running_at = running_at.and_then(|port| port.parse().ok()).map(at);
    if let Some(running_at) = running_at.filter(|running_at| answers(*running_at)) {
        return running_at;
    }
    let address = at(free_port());
    keep(dir, &command(address.port()));
    for _ in 0..600 {
        if answers(address) {
            fs::write(&port_file, address.port().to_string()).unwrap();
            return address;
        }
        wait();
    }
    panic!("{name} does not start: has `tools/setup aws` been run?");
}

const fn at(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(at(0)).unwrap();
    listener.local_addr().unwrap().port()
}

/// Whether a server speaks HTTP there.
fn answers(address: SocketAddr) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        let request =
            "GET /_ministack/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        stream.write_all(request.as_bytes()).ok()?;
        let mut start = [0; 5];
        stream.read_exact(&mut start).ok()?;
        Some(start == *b"HTTP/")
    };
    ask().unwrap_or(false)
}

/// Runs a server next to this process: in its own process group, with none of this process's handles.
fn keep(dir: &Path, server: &Command) {
    use std::os::unix::process::CommandExt;

    let mut keeper = Command::new("sh");
    keeper
        .args(["-c", include_str!("keep.sh"), "keep"])
        .args([dir.join("in-use"), dir.join("start")])
        .arg(server.get_program())
        .args(server.get_args())
        .env_clear()
        .envs(
            server
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    if let Some(dir) = server.get_current_dir() {
        keeper.current_dir(dir);
    }
    #[expect(clippy::zombie_processes, reason = "it outlives this process")]
    keeper.spawn().unwrap();
}

fn dynamodb_local(port: u16) -> Command {
    let mut command = tool("java");
    command
        .args(["-Dlog4j2.formatMsgNoLookups=true", "-Xmx512m"])
        .args(["-Djava.library.path=./DynamoDBLocal_lib", "-jar"])
        .args(["DynamoDBLocal.jar", "-inMemory", "-sharedDb", "-port"])
        .arg(port.to_string())
        .current_dir(tools().join("dynamodb-local"));
    command
}

fn ministack(port: u16) -> Command {
    let mut command = tool(tools().join("aws/bin/ministack"));
    command
        .env("GATEWAY_PORT", port.to_string())
        .env("BIND_HOST", "127.0.0.1")
        .env("IOT_MTLS_ENABLED", "0")
        .env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}"));
    command
}

fn tool(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    #[expect(clippy::disallowed_methods, reason = "to find installed programs")]
    for name in ["PATH", "HOME"] {
        command.env(name, std::env::var_os(name).unwrap_or_default());
    }
    command
}

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.tools")
}

fn wait() {
    #[expect(clippy::disallowed_methods, reason = "polls for a server that starts")]
    std::thread::sleep(Duration::from_millis(50));
}
