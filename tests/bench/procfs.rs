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

/// Memory in use now, in MB.
pub(crate) fn memory_mb(pid: u32) -> f64 {
    status(pid, "VmRSS:")
}

/// Peak memory, in MB.
pub(crate) fn peak_memory_mb(pid: u32) -> f64 {
    status(pid, "VmHWM:")
}

fn status(pid: u32, field: &str) -> f64 {
    let status = read(pid, "status");
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kib = line.and_then(|rest| rest.split_whitespace().next());
    kib.expect("a field of the kernel").parse::<f64>().unwrap() * 1024.0 / 1e6
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
