//! The resources that a process has used, as Linux counts them.

/// Ticks in a second of `/proc/<pid>/stat`; the same on every Linux.
const TICKS: f64 = 100.0;

/// CPU time of all its threads, in user and kernel mode, in seconds.
pub(crate) fn cpu_seconds(pid: u32) -> f64 {
    let stat = read(pid, "stat");
    // The program's name is in parentheses and may contain anything; utime and stime are fields 14 and 15.
    let after_name = stat.rsplit_once(')').expect("a name").1;
    let ticks = after_name.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(|field| field.parse::<u64>().unwrap()).sum();
    ticks as f64 / TICKS
}

/// What a process has used so far.
#[derive(Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) cpu_seconds: f64,
    /// Bytes that went to the disk, the log and its copy into the database included.
    pub(crate) written: f64,
    /// How often one of its threads waited for something.
    pub(crate) switches: f64,
}

impl Usage {
    pub(crate) fn of(pid: u32) -> Self {
        Self {
            cpu_seconds: cpu_seconds(pid),
            written: field(&read(pid, "io"), "write_bytes:"),
            switches: threads(pid)
                .map(|status| field(&status, "voluntary_ctxt_switches:"))
                .sum(),
        }
    }

    /// What it has used since then.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            cpu_seconds: self.cpu_seconds - before.cpu_seconds,
            written: self.written - before.written,
            switches: self.switches - before.switches,
        }
    }
}

/// The status of each of its threads. A thread may end while they are read.
fn threads(pid: u32) -> impl Iterator<Item = String> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("status")).ok())
}

/// Memory in use now, in MB.
pub(crate) fn memory_mb(pid: u32) -> f64 {
    status(pid, "VmRSS:")
}

/// Peak memory, in MB.
pub(crate) fn peak_memory_mb(pid: u32) -> f64 {
    status(pid, "VmHWM:")
}

fn status(pid: u32, field: &str) -> f64 {
    self::field(&read(pid, "status"), field) * 1024.0 / 1e6
}

/// The number behind a name.
fn field(text: &str, name: &str) -> f64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.expect("a field of the kernel").parse().unwrap()
}

fn read(pid: u32, file: &str) -> String {
    std::fs::read_to_string(format!("/proc/{pid}/{file}")).expect("it runs")
}

/// How many processes were running or about to in the last minute, on average.
pub(crate) fn load_average() -> f64 {
    let file = std::fs::read_to_string("/proc/loadavg").expect("a file of the kernel");
    let first = file.split_whitespace().next();
    first.expect("a number").parse().unwrap()
}
