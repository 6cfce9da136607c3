//! Which command repeats which row of the suites and papers that came before.
//!
//! A repeat times the same operation with the same parameters; `differs` says what is not the same.
//! The five documents come first, in the order of their tables; then the tests of other tools,
//! which a plain run of a benchmark repeats. The lineage in `groma list` and `groma explain`,
//! docs/lineage.md, and the last table of docs/benchmarks.md are made from this list.

use crate::{Cell, DOCUMENTS, Pairs, Quantity, Shape, Table, Take, prefer_measured};

/// A row of a document, or a test of a tool, and the command that repeats it.
#[derive(Clone, Copy, Debug)]
pub struct Repeat {
    /// The document or tool, and its table, program, section or test: `lmbench1996:table10`,
    /// `lmbench3:lat_sig catch`, `wis:dup1`.
    pub source: &'static str,
    /// The column of the table, or the mode of the program; empty where there is one only.
    pub column: &'static str,
    /// The operation that was timed, with its parameters; empty where the summary of the benchmark
    /// says it.
    pub timed: &'static str,
    /// The command line. `ADDRESS` stands for that of another machine.
    pub command: &'static str,
    /// What differs from the source; empty where nothing does.
    pub differs: &'static str,
}

/// Quantities with their values.
pub type Values = Vec<(&'static Quantity, Vec<Cell>)>;

/// Other tools: the name before the colon of a source, and the name for people.
pub const TOOLS: [(&str, &str); 8] = [
    ("libmicro", "libMicro"),
    ("wis", "will-it-scale"),
    ("perf_bench", "perf bench"),
    ("rt-tests", "rt-tests"),
    ("schbench", "schbench"),
    ("linux", "Linux tracers"),
    ("netperf", "netperf"),
    ("fio", "fio"),
];

impl Repeat {
    /// The document or tool.
    pub fn document(&self) -> &'static str {
        self.source.split_once(':').map_or(self.source, |(document, _)| document)
    }

    /// The table or section; the program without its mode: `lat_sig`.
    pub fn row(&self) -> &'static str {
        self.source.split([':', ' ']).nth(1).unwrap_or_default()
    }

    /// The benchmarks that the command runs.
    pub fn benchmarks(&self) -> Vec<&'static str> {
        let mut words = self.command.split(' ').skip(1);
        match words.next() {
            Some("run") => words.take_while(|word| !word.starts_with('-')).collect(),
            Some("hammer") => vec!["mem.hammer_run"],
            _ => Vec::new(),
        }
    }

    /// Whether a text names its source: `lmbench3`, `lmbench3:lat_sig` and `lat_sig` all name
    /// `lmbench3:lat_sig catch`.
    pub fn is_of(&self, text: &str) -> bool {
        let begins =
            |of: &str| of.strip_prefix(text).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ']));
        !text.is_empty() && (begins(self.source) || self.source.split_once(':').is_some_and(|(_, row)| begins(row)))
    }

    /// The table of its document that has values for it, and the measured values of one system: for
    /// each quantity one value, or the two ends of a range; for a figure the first point only.
    /// `None` if the document prints no number.
    pub fn printed_values(&self) -> Option<(&'static Table, Values)> {
        let document = DOCUMENTS.iter().find(|document| document.name == self.document())?;
        let table = document.tables.iter().find(|table| table.row == self.row())?;
        let mut cells = table.cells();
        let has = |system: &&str| cells.iter().any(|cell| cell.system == *system);
        let known = document.known_by.iter().copied().find(has);
        let system = known.map_or_else(|| cells[0].system.clone(), str::to_owned);
        cells.retain(|cell| cell.system == system);
        let of = |quantity: &'static Quantity| {
            let is_of = |cell: &&Cell| table.quantity_of(cell) == table.quantities.iter().position(|q| q == quantity);
            let own = cells.iter().filter(is_of);
            // Not what was only predicted.
            let first =
                prefer_measured(own.clone()).filter(|cell| matches!(cell.param("kind"), None | Some("measured")))?;
            // The two ends of a range differ in the bound alone.
            let rest =
                |cell: &Cell| -> Pairs { cell.params.iter().filter(|(key, _)| key != "bound").cloned().collect() };
            Some((quantity, own.filter(|cell| rest(cell) == rest(first)).cloned().collect()))
        };
        let column: Vec<&'static Quantity> =
            table.quantities.iter().filter(|q| q.is_repeated() && q.repeat == self.column).collect();
        let is_derived = |q: &&Quantity| matches!(q.take, Take::Relative | Take::PerMips | Take::Ratio(..));
        let (derived, direct): (Vec<_>, Vec<_>) = column.into_iter().partition(is_derived);
        let mut shown = if direct.is_empty() { derived } else { direct };
        // The verb `hammer` repeats a whole table; the first quantity stands for it.
        if shown.is_empty() || matches!(table.shape, Shape::Figure(_)) {
            shown = shown.first().copied().or(table.quantities.first()).into_iter().collect();
        }
        Some((table, shown.into_iter().filter_map(of).collect()))
    }
}

/// The sources that a benchmark repeats, each once.
pub fn sources(benchmark: &str) -> Vec<&'static str> {
    let mut all: Vec<&str> = Vec::new();
    for repeat in REPEATS.iter().filter(|repeat| repeat.benchmarks().contains(&benchmark)) {
        if !all.contains(&repeat.source) {
            all.push(repeat.source);
        }
    }
    all
}

/// The benchmarks that repeat what a text names: `lat_pipe`, `lmbench1996:table10`, `fio`.
pub fn repeating(text: &str) -> Vec<&'static str> {
    REPEATS.iter().filter(|repeat| repeat.is_of(text)).flat_map(Repeat::benchmarks).collect()
}

const TWICE: &str = "a copied byte counts twice, as read and as written; there once";
const LOADS: &str = "loads alone, nothing is added up";
const PINNED: &str = "both sides are pinned to one CPU";
const NET: &str =
    "the table's number is `ctx.switch.net`; the main value has the pipe and the sum; no wake-up preempts";
const NO_LIBRARY: &str = "no RPC library, and nothing is registered with a port mapper";
const CALLS_ALONE: &str = "by number, without libc";
const ORDER: &str = "lines in random order instead of a fixed stride, which the prefetchers of today foresee";
const NANOSECONDS_EACH: &str = "`.throughput` and `.parallelism` besides";
const GIBIBYTES: &str = "a GB of the report has 2^30 bytes, of `groma run` 10^9";

/// Source, column and operation, the command behind `groma`, and what differs.
macro_rules! rows {
    ($($source:literal $(, $column:literal, $timed:literal)? => $command:literal $(, $differs:expr)?;)*) => {
        &[$(Repeat {
            source: $source,
            column: concat!($($column)?),
            timed: concat!($($timed)?),
            command: concat!("groma ", $command),
            differs: [$($differs,)? ""][0],
        }),*]
    };
}

/// All rows: document by document in the order of their tables, then tool by tool.
pub const REPEATS: &[Repeat] = rows! {
    "lmbench1996:table2", "bcopy unrolled", "8 MB copied to 8 MB, word by word"
        => "run mem.bandwidth --param op=copy --param size=16M --param kernel=portable", TWICE;
    "lmbench1996:table2", "bcopy libc", "8 MB copied to 8 MB by libc's bcopy"
        => "run mem.libc --param op=bcopy --param call=whole --param buffer=16M", TWICE;
    "lmbench1996:table2", "read", "8 MB read and added up, word by word"
        => "run mem.bandwidth --param op=read --param size=8M --param kernel=portable", LOADS;
    "lmbench1996:table2", "write", "8 MB written, word by word"
        => "run mem.bandwidth --param op=write --param size=8M --param kernel=portable";
    "lmbench1996:table3", "bcopy libc", "as in table 2"
        => "run mem.libc --param op=bcopy --param call=whole --param buffer=16M", TWICE;
    "lmbench1996:table3", "pipe", "50 MB through a pipe in writes of 64 KB"
        => "run ipc.pipe_bandwidth --param size=64K --placement same-cpu",
        "both sides touch every byte and are pinned to one CPU";
    "lmbench1996:table3", "TCP", "TCP over the loopback in writes of 1 MB, socket buffers of 1 MB"
        => "run net.tcp_bandwidth --param size=1M --param buffers=4M --placement same-cpu",
        "socket buffers of 4 MB; both sides touch every byte";
    "lmbench1996:table4", "", "TCP between two machines in writes of 1 MB"
        => "run net.tcp_bandwidth --param size=1M --param buffers=4M --host ADDRESS",
        "socket buffers of 4 MB; both sides touch every byte";
    "lmbench1996:table5", "bcopy libc", "as in table 2"
        => "run mem.libc --param op=bcopy --param call=whole --param buffer=16M", TWICE;
    "lmbench1996:table5", "file read", "8 MB of a cached file read in blocks of 64 KB and added up"
        => "run file.reread --param mode=read_sum --param size=8M --param block=64K";
    "lmbench1996:table5", "memory read", "as in table 2"
        => "run mem.bandwidth --param op=read --param size=8M --param kernel=portable", LOADS;
    "lmbench1996:table5", "file mmap", "8 MB of a cached file added up in a mapping"
        => "run file.mmap_reread --param mode=mapped --param size=8M";
    "lmbench1996:table6", "clock", "period of the processor's clock"
        => "run cpu.frequency --param class=integer", "the rate instead of the period";
    "lmbench1996:table6", "latencies and sizes", "a chain of dependent loads through up to 8 MB, and the levels in it"
        => "run mem.latency --param chain=amortised --param size=4K,8K,16K,32K,64K,128K,256K,512K,1M,2M,4M,8M",
        "lines in random order; a load's whole time, where the paper counts what is beyond the instruction";
    "lmbench1996:table7", "", "write of a word to /dev/null" => "run syscall.write_libc --param bytes=4";
    "lmbench1996:table8", "sigaction", "installing a signal handler" => "run signal.install", CALLS_ALONE;
    "lmbench1996:table8", "sig handler", "sending oneself a signal and catching it"
        => "run signal.catch", "`tgkill` by number; `.net` is without the call";
    "lmbench1996:table9", "fork & exit", "fork, exit of the child, wait"
        => "run proc.fork_exit --param resident=0", "the child leaves by `_exit`";
    "lmbench1996:table9", "fork, exec & exit", "fork, execve of a small dynamic program that writes a line, wait"
        => "run proc.exec --param target=dynamic --param by=fork", "it writes a byte";
    "lmbench1996:table9", "fork, exec sh -c & exit", "fork, /bin/sh -c with that program, wait"
        => "run proc.shell --param command=target --param by=fork", "it writes a byte";
    "lmbench1996:table10", "2 processes, 0 KB", "a token through a ring of 2 processes and pipes"
        => "run ctx.switch --param tasks=2 --param working_set=0 --param kind=process --param access=read", NET;
    "lmbench1996:table10", "2 processes, 32 KB", "the same, each process adds up 32 KB of its own"
        => "run ctx.switch --param tasks=2 --param working_set=32K --param kind=process --param access=read", NET;
    "lmbench1996:table10", "8 processes, 0 KB", "the same with 8 processes and no data"
        => "run ctx.switch --param tasks=8 --param working_set=0 --param kind=process --param access=read", NET;
    "lmbench1996:table10", "8 processes, 32 KB", "the same with 8 processes and 32 KB"
        => "run ctx.switch --param tasks=8 --param working_set=32K --param kind=process --param access=read", NET;
    "lmbench1996:table11", "", "a word to another process and back over two pipes"
        => "run ipc.pipe_rtt --param size=4 --placement same-cpu", PINNED;
    "lmbench1996:table12", "TCP", "a word to another process and back over TCP on the loopback"
        => "run net.tcp_rtt --param size=4 --param nodelay=off --placement same-cpu", PINNED;
    "lmbench1996:table12", "RPC/TCP", "a remote procedure call with a word over TCP"
        => "run rpc.null --param transport=tcp --placement same-cpu", NO_LIBRARY;
    "lmbench1996:table13", "UDP", "a word to another process and back over UDP on the loopback"
        => "run net.udp_rtt --param size=4 --placement same-cpu", PINNED;
    "lmbench1996:table13", "RPC/UDP", "a remote procedure call with a word over UDP"
        => "run rpc.null --param transport=udp --placement same-cpu", NO_LIBRARY;
    "lmbench1996:table14", "TCP", "a word to another machine and back over TCP"
        => "run net.tcp_rtt --param size=4 --param nodelay=off --host ADDRESS";
    "lmbench1996:table14", "UDP", "a word to another machine and back over UDP"
        => "run net.udp_rtt --param size=4 --host ADDRESS";
    "lmbench1996:table15", "", "connecting over TCP on the loopback, the fastest of 20"
        => "run net.tcp_connect --placement same-cpu", "the median";
    "lmbench1996:table16", "create", "creating 1000 empty files in one directory"
        => "run file.create_delete --param size=0 --param entries=1000 --param order=batch",
        "the median of the files; there the mean";
    "lmbench1996:table16", "delete", "removing them: `file.create_delete.delete`"
        => "run file.create_delete --param size=0 --param entries=1000 --param order=batch",
        "the median of the files; there the mean";
    "lmbench1996:table17", "", "reading 512 bytes after the last 512 from a raw disk"
        => "run disk.overhead --param block=512 --param order=next",
        "a file of the work directory; `--param on=/dev/sdb` names a disk";
    "lmbench1996:figure1", "", "a chain of dependent loads through 512 B to 8 MB, with strides of 8 to 8192 bytes"
        => "run mem.stride --param size=512,1K,2K,4K,8K,16K,32K,64K,128K,256K,512K,1M,2M,4M,8M --param stride=8,16,32,64,128,256,512,1024,2048,4096,8192",
        "the fastest tenth of the samples";
    "lmbench1996:figure2", "", "context switches of 2 to 20 processes with 0 to 64 KB each"
        => "run ctx.switch --param tasks=2,4,8,16,20 --param working_set=0,4K,16K,32K,64K --param kind=process --param access=read",
        NET;

    "lmbench3:bw_file_rd", "io_only", "a cached file read in blocks of 64 KB and added up"
        => "run file.reread --param mode=read_sum --param size=8M --param block=64K";
    "lmbench3:bw_file_rd", "open2close", "the same, with open and close"
        => "run file.reread --param mode=open_close --param size=8M --param block=64K";
    "lmbench3:bw_mem", "rd", "one word in four of a buffer read and added up"
        => "run mem.partial --param op=read --param size=8M", "what is touched counts; there four times that";
    "lmbench3:bw_mem", "wr", "one word in four of a buffer written"
        => "run mem.partial --param op=write --param size=8M", "what is touched counts; there four times that";
    "lmbench3:bw_mem", "rdwr", "one word in four of a buffer read and written"
        => "run mem.partial --param op=update --param size=8M", "what is read and written counts; there twice that";
    "lmbench3:bw_mem", "cp", "one word in four of a buffer copied to another"
        => "run mem.partial --param op=copy --param size=16M", "what is read and written counts; there twice that";
    "lmbench3:bw_mem", "frd", "every word of a buffer read and added up"
        => "run mem.bandwidth --param op=read --param size=8M --param kernel=portable", "loads alone";
    "lmbench3:bw_mem", "fwr", "every word of a buffer written"
        => "run mem.bandwidth --param op=write --param size=8M --param kernel=portable";
    "lmbench3:bw_mem", "fcp", "every word of a buffer copied to another"
        => "run mem.bandwidth --param op=copy --param size=16M --param kernel=portable", TWICE;
    "lmbench3:bw_mem", "bzero", "a buffer zeroed by libc"
        => "run mem.libc --param op=memset --param call=whole --param buffer=8M", "memset to a value other than 0";
    "lmbench3:bw_mem", "bcopy", "a buffer copied by libc"
        => "run mem.libc --param op=bcopy --param call=whole --param buffer=16M", TWICE;
    "lmbench3:bw_mmap_rd", "mmap_only", "a cached file added up in a mapping"
        => "run file.mmap_reread --param mode=mapped --param size=8M";
    "lmbench3:bw_mmap_rd", "open2close", "the same, with open, mmap, munmap and close"
        => "run file.mmap_reread --param mode=open_close --param size=8M";
    "lmbench3:bw_pipe", "", "10 MB through a pipe in writes of 64 KB"
        => "run ipc.pipe_bandwidth --param size=64K", "both sides touch every byte";
    "lmbench3:bw_tcp", "", "TCP in writes of 64 KB, socket buffers of 1 MB"
        => "run net.tcp_bandwidth --param size=64K --param buffers=4M",
        "socket buffers of 4 MB; both sides touch every byte";
    "lmbench3:bw_udp", "", "datagrams as fast as they can be sent (never worked)"
        => "run net.udp_bandwidth --param size=1472", "lost datagrams are counted";
    "lmbench3:bw_unix", "", "10 MB through a pair of Unix sockets in writes of 64 KB"
        => "run ipc.unix_bandwidth --param size=64K --param kind=stream", "both sides touch every byte";
    "lmbench3:cache", "", "sizes and latencies of the caches"
        => "run mem.latency --param chain=amortised --param size=4K,16K,32K,48K,64K,256K,512K,1M,2M,4M,16M,64M", ORDER;
    "lmbench3:disk", "bandwidth by zone", "1 MB read at places all over a disk"
        => "run disk.read --param position=0,10,20,30,40,50,60,70,80,90,100",
        "a file of the work directory, past the page cache; `--param on=/dev/sdb` names a disk";
    "lmbench3:disk", "seek", "a read at growing distances from the last"
        => "run disk.seek --param distance=0,1,2,5,10,20,50,75,95",
        "4 KiB past the page cache instead of 512 B through it; the same for the disk";
    "lmbench3:disk", "size", "the size of a disk" => "run disk.size", "asked of the system";
    "lmbench3:enough", "", "the shortest interval that the clock can time"
        => "run clock.step", "the step of the clock, from which the interval follows (`groma run` does it itself)";
    "lmbench3:lat_cmd", "", "fork, execvp of a command, wait"
        => "run mix.command --param command=true", "a shell starts the command";
    "lmbench3:lat_connect", "", "socket, connect and close over TCP"
        => "run net.tcp_connect", "connections end by a reset, so none stays in TIME_WAIT";
    "lmbench3:lat_ctx", "", "a token through a ring of 2 to 96 processes and pipes, with 0 to 64 KB each"
        => "run ctx.switch --param tasks=2,4,8,16,24,32,64,96 --param working_set=0,4K,8K,16K,32K,64K --param kind=process --param access=read",
        NET;
    "lmbench3:lat_dram_page", "", "two loads from different rows of a DRAM bank, and from one" => "run mem.dram_page";
    "lmbench3:lat_fcntl", "", "locks on two files handed over between two processes"
        => "run ipc.lock_rtt --param kind=record",
        "three files, since with two a side may take its own lock again; a whole round trip, not half of one";
    "lmbench3:lat_fifo", "", "a byte to another process and back over two FIFOs" => "run ipc.fifo_rtt --param size=1";
    "lmbench3:lat_fs", "", "creating files of 0, 1, 4 and 10 KB, 100 in a directory, and removing them"
        => "run file.create_delete --param size=0,1K,4K,10K --param entries=100 --param order=batch",
        "one directory, and as many files whatever the machine";
    "lmbench3:lat_http", "", "connect, GET, response, close, for each of some files"
        => "run http.get --param connection=close --param from=file --param size=1K,10K,100K",
        "HTTP/1.1, with its status and length checked";
    "lmbench3:lat_mem_rd", "", "a chain of dependent loads through a growing buffer"
        => "run mem.latency --param chain=amortised,included --param size=4K,16K,32K,64K,256K,512K,1M,2M,4M,8M,16M,32M,64M",
        ORDER;
    "lmbench3:lat_mem_rd", "stride", "the same, at the stride of its second operand"
        => "run mem.stride --param size=4K,16K,32K,64K,256K,512K,1M,2M,4M,8M,16M,32M,64M --param stride=128",
        "the fastest tenth of the samples";
    "lmbench3:lat_mmap", "", "mmap of a file, a byte touched every 16 KB in its first tenth, munmap"
        => "run vm.map --param size=1M --param backing=file --param touch=tenth",
        "a scratch file instead of the user's";
    "lmbench3:lat_ops", "", "latency of integer and floating-point operations" => "run cpu.operation";
    "lmbench3:lat_pagefault", "", "a byte of each page of a mapped file, in random order"
        => "run vm.fault --param kind=file_minor,file_around",
        "`file_minor` is one fault a touch; `file_around` divides by all pages, as there";
    "lmbench3:lat_pipe", "", "a byte to another process and back over two pipes" => "run ipc.pipe_rtt --param size=1";
    "lmbench3:lat_pmake", "", "some jobs of some microseconds each, started at once"
        => "run mix.jobs --param jobs=4 --param work_us=1000 --param kind=process --param work=equal",
        "the original prints nothing but its heading";
    "lmbench3:lat_proc procedure", "", "a call of a function that adds to a variable in memory"
        => "run cpu.call --param args=1 --param callee=leaf",
        "the call alone: there a store and a load wait for each other";
    "lmbench3:lat_proc fork", "", "fork, exit of the child, wait"
        => "run proc.fork_exit --param resident=0", "the child leaves by `_exit`";
    "lmbench3:lat_proc exec", "", "fork, execve of a small dynamic program that writes a line, wait"
        => "run proc.exec --param target=dynamic --param by=fork", "it writes a byte";
    "lmbench3:lat_proc shell", "", "fork, /bin/sh -c with that program, wait"
        => "run proc.shell --param command=target --param by=fork", "it writes a byte";
    "lmbench3:lat_rand", "", "a number of drand48 and lrand48" => "run cpu.random --param kind=drand48,lrand48";
    "lmbench3:lat_rpc", "", "a remote procedure call with a byte, over TCP and UDP"
        => "run rpc.null --param transport=tcp,udp", NO_LIBRARY;
    "lmbench3:lat_select", "", "select over 200 sockets that are ready"
        => "run ready.select --param count=200 --param kind=tcp --param ready=all",
        "200 sockets, readable, instead of 200 duplicates of a writable one";
    "lmbench3:lat_sem", "", "two System V semaphores handed over between two processes, one semop for both"
        => "run ipc.sysv_sem_rtt --param semop=both",
        "a whole round trip, not half of one; it is no hand-over (`groma explain ipc.sysv_sem_rtt`)";
    "lmbench3:lat_sig install", "", "installing a signal handler" => "run signal.install", CALLS_ALONE;
    "lmbench3:lat_sig catch", "", "kill of oneself and catching it, without the kill"
        => "run signal.catch", "`signal.catch.net` is lmbench's number; `tgkill` by number";
    "lmbench3:lat_sig prot", "", "a store into a read-only mapping, caught, without a signal's cost"
        => "run signal.fault --param kind=write", "the cost of a signal is not subtracted";
    "lmbench3:lat_syscall null", "", "getppid through libc" => "run syscall.getppid_libc";
    "lmbench3:lat_syscall read", "", "read of a byte of /dev/zero" => "run syscall.read", CALLS_ALONE;
    "lmbench3:lat_syscall write", "", "write of a byte to /dev/null" => "run syscall.write_libc --param bytes=1";
    "lmbench3:lat_syscall stat", "", "stat of a file by its path"
        => "run syscall.stat", "by number, relative to an open directory";
    "lmbench3:lat_syscall fstat", "", "fstat of an open file" => "run syscall.fstat_libc";
    "lmbench3:lat_syscall open", "", "open of a file by its path, and close"
        => "run syscall.open_close --param depth=1", "by number, relative to an open directory";
    "lmbench3:lat_tcp", "", "a byte to another process and back over TCP, with Nagle's algorithm"
        => "run net.tcp_rtt --param size=1 --param nodelay=off";
    "lmbench3:lat_udp", "", "a datagram of 4 bytes to another process and back" => "run net.udp_rtt --param size=4";
    "lmbench3:lat_unix", "", "a byte to another process and back over a pair of Unix sockets"
        => "run ipc.unix_rtt --param size=1 --param kind=stream --param socket=pair";
    "lmbench3:lat_unix_connect", "", "socket, connect and close of a Unix socket with a path"
        => "run net.unix_connect --param name=path";
    "lmbench3:lat_usleep", "", "a sleep of 100 microseconds by one of four calls"
        => "run timer.sleep --param interface=usleep,nanosleep,select,itimer --param length=100us --param slack=default",
        "the overshoot; there the length is in it";
    "lmbench3:line", "", "the size of a cache line" => "run mem.line";
    "lmbench3:lmdd", "", "blocks from one file to another"
        => "dd if=/etc/services of=internal bs=4K", "no operand is ignored";
    "lmbench3:loop_o", "", "an empty loop" => "run clock.loop";
    "lmbench3:memsize", "", "memory that can be taken" => "run mem.available", "it stops at the first limit";
    "lmbench3:mhz", "", "the clock of the core" => "run cpu.frequency --param class=integer";
    "lmbench3:par_mem", "", "loads that overlap, by the size of the buffer"
        => "run mem.parallelism --param size=16K,512K,8M,128M";
    "lmbench3:par_ops", "", "operations that overlap" => "run cpu.operation", NANOSECONDS_EACH;
    "lmbench3:seek", "", "a read at growing distances from the last"
        => "run disk.seek --param distance=0,1,2,5,10,20,50,75,95", "never built there";
    "lmbench3:stream", "", "McCalpin's copy, scale, add and triad, and his fill, copy, daxpy and sum"
        => "run mem.stream --param op=copy,scale,add,triad,fill,daxpy,sum --param store=plain --param size=24M",
        "`add` adds; there it is the sum";
    "lmbench3:timing_o", "", "reading the clock twice" => "run clock.read";
    "lmbench3:tlb", "", "pages that the TLB holds, and the cost of a miss"
        => "run mem.tlb --param pages=base --param layout=contiguous";

    "ousterhout1990:table2", "", "getpid through libc" => "run syscall.getpid_libc";
    "ousterhout1990:table3", "", "a byte to another process and back over two pipes"
        => "run ipc.pipe_rtt --param size=1 --placement same-cpu";
    "ousterhout1990:table4", "1 empty", "select over an empty pipe"
        => "run ready.select --param count=1 --param kind=pipe --param ready=none", CALLS_ALONE;
    "ousterhout1990:table4", "10 empty", "select over 10 empty pipes"
        => "run ready.select --param count=10 --param kind=pipe --param ready=none", CALLS_ALONE;
    "ousterhout1990:table4", "10 full", "select over 10 pipes with data"
        => "run ready.select --param count=10 --param kind=pipe --param ready=all", CALLS_ALONE;
    "ousterhout1990:table5", "cached", "bcopy of a block that the cache holds"
        => "run mem.libc --param op=bcopy --param call=whole --param buffer=16K", TWICE;
    "ousterhout1990:table5", "uncached", "bcopy of a block larger than the cache"
        => "run mem.libc --param op=bcopy --param call=whole --param buffer=128M", TWICE;
    "ousterhout1990:table6", "", "a cached file read in blocks of 16 KB"
        => "run file.reread --param mode=read --param size=8M --param block=16K";
    "ousterhout1990:table7", "", "the modified Andrew benchmark: copy phases and compilation"
        => "run mix.andrew --param tree=andrew --param jobs=1",
        "a tree of the same size, and groma's own small compiler";
    "ousterhout1990:table8", "", "its time relative to the processor's speed"
        => "run mix.andrew --param tree=andrew --param jobs=1",
        "a tree of the same size, and groma's own small compiler; `groma run` prints the time";
    "ousterhout1990:table9", "foo", "open and close of a file in the directory"
        => "run syscall.open_close --param depth=1", CALLS_ALONE;
    "ousterhout1990:table9", "a/b/c/foo", "open and close of a file three directories down"
        => "run syscall.open_close --param depth=4", CALLS_ALONE;
    "ousterhout1990:table10", "no data", "a file created, written, closed, read and deleted: empty"
        => "run file.create_write_read_delete --param size=0";
    "ousterhout1990:table10", "10 kbytes", "the same with 10 KB"
        => "run file.create_write_read_delete --param size=10K";
    "ousterhout1990:table10", "100 kbytes", "the same with 100 KB"
        => "run file.create_write_read_delete --param size=100K";

    "cse221:measurement_overhead", "reading", "reading the time twice"
        => "run clock.read", "the clock of the harness instead of `mach_absolute_time`";
    "cse221:measurement_overhead", "loop", "one turn of an empty loop"
        => "run clock.loop", "many turns; the 42 cycles that the report has for a single one are the clock's";
    "cse221:procedure_call", "", "a call with 0 to 7 integer arguments"
        => "run cpu.call --param args=0,1,2,3,4,5,6,7 --param callee=frame",
        "calls that follow each other, without the clock";
    "cse221:system_call", "", "stat of a file by its path"
        => "run syscall.stat", "by number, relative to an open directory";
    "cse221:task_creation", "process", "fork and the end of the child" => "run proc.fork_exit --param resident=0";
    "cse221:task_creation", "thread", "pthread_create to after pthread_join"
        => "run thread.create_join --param kind=pthread --param stack=warm";
    "cse221:context_switch", "process", "a token between two processes over blocking pipes, by switch"
        => "run ctx.switch --param tasks=2 --param working_set=0 --param kind=process --param access=read",
        "the main value, in which the pipes are, as in the report";
    "cse221:context_switch", "thread", "sched_yield between two threads on one core" => "run ctx.yield";
    "cse221:memory_latency", "", "a chain of dependent loads, by the size of the buffer"
        => "run mem.latency --param chain=amortised --param size=4K,16K,32K,64K,256K,512K,1M,2M,4M,8M,16M,64M";
    "cse221:ram_bandwidth", "array", "an array written by assignments"
        => "run mem.bandwidth --param op=write --param size=128M --param kernel=portable",
        GIBIBYTES;
    "cse221:ram_bandwidth", "non-temporal", "an array written past the caches"
        => "run mem.bandwidth --param op=write_nt --param size=128M", GIBIBYTES;
    "cse221:ram_bandwidth", "rep stosq", "1 GB written by rep stosq"
        => "run mem.bandwidth --param op=rep_stos --param size=1G", GIBIBYTES;
    "cse221:ram_bandwidth", "rep lodsq", "1 GB read by rep lodsq"
        => "run mem.bandwidth --param op=rep_lods --param size=1G", GIBIBYTES;
    "cse221:page_fault", "first run", "the first touch of a page of a file that is not in memory"
        => "run vm.fault_major";
    "cse221:page_fault", "later runs", "the same with the file in memory" => "run vm.fault --param kind=file_minor";

    "slb:memhammer", "", "stores to random pages of 1 GB, 6000 a page, alone and on several CPUs"
        => "hammer 262144 6000";
    "slb:memhammer", "as a metric", "the same stores, sampled"
        => "run mem.hammer --param variant=store --param size=1G";

    "libmicro:cascade_cond" => "run lock.condition", "a wake-up alone; there threads pass it on in a ring";
    "libmicro:connection" => "run net.tcp_accept";
    "libmicro:dup" => "run syscall.dup_close";
    "libmicro:exec" => "run proc.exec";
    "libmicro:exit" => "run proc.exit";
    "libmicro:fork" => "run proc.fork_exit";
    "libmicro:lseek" => "run syscall.lseek";
    "libmicro:mutex" => "run lock.mutex";
    "libmicro:poll" => "run ready.poll";
    "libmicro:posix_spawn" => "run proc.spawn";
    "libmicro:pthread_create" => "run thread.create_join";
    "libmicro:system" => "run proc.shell";
    "libmicro:vfork" => "run proc.vfork_exit";

    "wis:dup1" => "run syscall.dup_close";
    "wis:eventfd1" => "run lock.eventfd";
    "wis:futex1" => "run lock.futex";
    "wis:futex2" => "run lock.futex";
    "wis:futex3" => "run lock.futex";
    "wis:futex4" => "run lock.futex";
    "wis:lock1" => "run lock.file";
    "wis:lock2" => "run lock.file";
    "wis:lseek1" => "run syscall.lseek";
    "wis:poll1" => "run ready.poll";
    "wis:poll2" => "run ready.poll";
    "wis:posix_semaphore1" => "run lock.posix_sem";
    "wis:pthread_mutex1" => "run lock.contended", "the section adds to a word";
    "wis:pthread_mutex2" => "run lock.mutex";
    "wis:pthread_mutex3" => "run lock.contended";
    "wis:sched_yield" => "run ctx.yield";

    "perf_bench:epoll ctl" => "run ready.epoll_ctl";
    "perf_bench:epoll wait" => "run ready.epoll", "nothing has to be waited for";
    "perf_bench:futex lock-pi" => "run lock.contended --param kind=pi", "through the C library";
    "perf_bench:futex wake" => "run lock.futex", "nobody waits";
    "perf_bench:mem memcpy" => "run mem.libc";
    "perf_bench:mem memset" => "run mem.libc --param op=memset";
    "perf_bench:sched messaging" => "run sched.groups", "without the making of the tasks";
    "perf_bench:sched pipe" => "run ipc.pipe_rtt";
    "perf_bench:syscall basic" => "run syscall.getppid";
    "perf_bench:syscall execve" => "run proc.exec";
    "perf_bench:syscall fork" => "run proc.fork_exit";
    "perf_bench:uprobe" => "run isolation.uprobe --param at=entry,program,return", "a function of our own";

    "rt-tests:cyclictest" => "run timer.sleep sched.periodic";
    "rt-tests:oslat" => "run sched.noise";

    "schbench:wakeup" => "run sched.workers";

    "linux:osnoise" => "run sched.noise";

    "netperf:TCP_CRR" => "run net.tcp_crr";

    "fio:fdatasync" => "run disk.sync_write";
    "fio:randread" => "run disk.random_read disk.queue";
    "fio:randrw" => "run disk.queue";
    "fio:randwrite" => "run disk.queue --param access=write";
    "fio:write" => "run disk.write";
};
