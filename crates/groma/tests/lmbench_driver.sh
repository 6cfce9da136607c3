#!/bin/sh
# Calls the programs of lmbench in the order, with the arguments and with the redirections of
# lmbench 3's own driver: what the configuration calls first, then what a run does. Whatever the
# programs write to standard error is the result file, so the caller redirects that.
#
#     lmbench_driver.sh DIR [CONFIG] 2> RESULT
#
# DIR holds the programs (groma lmbench --install DIR). CONFIG is a file of shell assignments as
# lmbench's configuration writes them; what it leaves out is asked of the programs here. OPTIONS
# goes before the arguments of all programs that measure repeatedly (OPTIONS='-N 1'). HOST and BIND
# let tests that run beside each other have servers of their own: an address of the loopback instead
# of localhost, and with what the servers are told to be there.
#
# It is not that driver, which is not part of groma: order and arguments are written anew from a
# description of it. Left out are other machines (REMOTE), which need rsh, and the mail.
#
# A line on standard output for each program that ends with another exit code than 0.
# shellcheck disable=SC2086 # Options and sizes are lists of words.
set -u
BIN=$(cd "$1" && pwd)
PATH=$BIN:$PATH
export PATH
[ $# -lt 2 ] || . "$2"

say() { echo "$*" >&2; }

# Runs a program, and says if it fails.
run() {
    "$@"
    code=$?
    [ $code = 0 ] || echo "$*: exit code $code"
}

# Whether a part was chosen, by itself or with its subset; all are where nothing was answered.
ANSWERED=${BENCHMARK_HARDWARE-}${BENCHMARK_OS-}
chosen() {
    case " OPS BCOPY MEM " in
    *" $1 "*) subset=${BENCHMARK_HARDWARE-} ;;
    *) subset=${BENCHMARK_OS-} ;;
    esac
    eval "own=\${BENCHMARK_$1-}"
    [ -z "$ANSWERED" ] || [ "$subset" = YES ] || [ "$own" = YES ]
}

# What the configuration does: it measures the interval, memory, line size and clock.
: "${ENOUGH=$(enough)}" "${TIMING_O=$(timing_o)}"
export ENOUGH TIMING_O
: "${LOOP_O=$(loop_o)}"
export LOOP_O
: "${SYNC_MAX=1}" "${LMBENCH_SCHED=DEFAULT}" "${OPTIONS=}" "${HOST=localhost}" "${BIND=}"
export LMBENCH_SCHED
: "${FSDIR=${TMPDIR:-/tmp}}"
FILE=$FSDIR/XXX
if [ -z "${MB-}" ]; then
    MB=64
    # Asked three times, as there.
    for _ in 1 2 3; do
        AVAIL=$(memsize $((SYNC_MAX * MB)) 2>/dev/null)
        [ "$AVAIL" -ge $((SYNC_MAX * MB)) ] || MB=$((AVAIL / SYNC_MAX))
    done
fi
: "${LINE_SIZE=$(line -M ${MB}M)}" "${MHZ=$(mhz)}"
: "${DISKS=}" "${DISK_DESC=}" "${FASTMEM=NO}" "${SLOWFS=NO}"
for disk in $DISKS; do run flushdisk "$disk"; done

BASE="512 1k 2k 4k 8k 16k 32k 64k 128k 256k 512k 1m"
HALF=$BASE ALL=$BASE
size=2
while [ $size -le "$MB" ]; do
    ALL="$ALL ${size}m"
    [ $((size * 2)) -gt "$MB" ] || HALF="$HALF ${size}m"
    size=$((size * 2))
done

# The head.
say "[lmbench3.0 results for $(uname -a)]"
say "[LMBENCH_VER: ]"
for key in ALL DISKS DISK_DESC ENOUGH FASTMEM FILE FSDIR HALF LINE_SIZE LOOP_O MB MHZ SLOWFS \
    SYNC_MAX LMBENCH_SCHED TIMING_O; do
    eval "say \"[$key: \$$key]\""
done
say "[HOSTNAME: $(hostname)]"
say "[NODENAME: $(uname -n)]"
say "[SYSNAME: $(uname -s)]"
say "[MACHINE: $(uname -m)]"
say "[RELEASE: $(uname -r)]"
say "[$(date)]"
say "[$(uptime)]"
mount | while read -r line; do say "[mount: $line]"; done

many() {
    program=$1
    shift
    run "$program" -P "$SYNC_MAX" $OPTIONS "$@"
}
# For programs without copies.
one() {
    program=$1
    shift
    run "$program" $OPTIONS "$@"
}

if chosen SYSCALL; then
    touch "$FSDIR/lmbench"
    many lat_syscall null
    many lat_syscall read
    many lat_syscall write
    many lat_syscall stat "$FSDIR/lmbench"
    many lat_syscall fstat "$FSDIR/lmbench"
    many lat_syscall open "$FSDIR/lmbench"
    rm -f "$FSDIR/lmbench"
fi
if chosen SELECT; then
    for kind in file tcp; do
        for n in 10 100 250 500; do many lat_select -n $n $kind; done
    done
fi
if chosen SIG; then
    many lat_sig install
    many lat_sig catch
    many lat_sig prot "$BIN/lat_sig"
fi
chosen PIPE && many lat_pipe
chosen UNIX && many lat_unix
if chosen PROC; then
    cp "$BIN/hello" /tmp/hello
    many lat_proc fork
    many lat_proc exec
    many lat_proc shell
    rm -f /tmp/hello
fi
if chosen OPS; then
    many lat_ops
    one par_ops
fi

if chosen FILE || chosen MMAP || chosen PAGEFAULT; then
    rm -f "$FILE"
    copy=0
    while [ $copy -lt "$SYNC_MAX" ]; do
        [ $copy = 0 ] && of=$FILE || of=$FILE.$copy
        run lmdd label="File $of write bandwidth: " of="$of" move=${MB}m fsync=1 print=3 &
        copy=$((copy + 1))
    done
    wait
    rm -f "$FILE".*
fi
chosen PAGEFAULT && many lat_pagefault "$FILE"
if chosen MMAP; then
    say
    say '"mappings'
    # The smaller ones print nothing, and end with 1.
    for size in $ALL; do many lat_mmap $size "$FILE"; done
    say
fi
if chosen FILE && [ "$SLOWFS" = NO ]; then
    say '"File system latency'
    many lat_fs "$FSDIR"
    say
fi
for disk in $DISKS; do
    run disk "$disk"
    say
done

# The web pages, and the servers, which are there only as long as they are needed.
if chosen HTTP; then
    pages=$(mktemp -d)
    for n in 1 2 3 4 5 6 7 8; do lmdd of="$pages/page$n.html" opat=1 bs=1k count=$((n * 4)) print=0; done
    (cd "$pages" && ls) >"$pages.list"
    (cd "$pages" && exec lmhttp $BIND 8008) &
    tries=0
    until lat_http "$HOST" 8008 <"$pages.list" >/dev/null 2>&1 || [ $tries = 40 ]; do
        msleep 50
        tries=$((tries + 1))
    done
fi
if chosen UDP; then
    run lat_udp -s $BIND
    many lat_udp "$HOST"
    run lat_udp -S "$HOST"
fi
if chosen TCP; then
    run lat_tcp -s $BIND
    many lat_tcp "$HOST"
    run lat_tcp -S "$HOST"
fi
if chosen RPC; then
    run lat_rpc -s $BIND
    many lat_rpc -p udp "$HOST"
    many lat_rpc -p tcp "$HOST"
    run lat_rpc -S "$HOST"
fi
if chosen CONNECT && [ "$SYNC_MAX" = 1 ]; then
    run lat_connect -s $BIND
    one lat_connect "$HOST"
    run lat_connect -S "$HOST"
fi
if chosen TCP; then
    run bw_tcp -s $BIND
    say
    say "Socket bandwidth using $HOST"
    for size in 1 64 128 256 512 1024 1437 10M; do many bw_tcp -m $size "$HOST"; done
    run bw_tcp -S "$HOST"
    say
fi
if chosen HTTP; then
    run lat_http "$HOST" 8008 <"$pages.list"
    run lat_http -S "$HOST" 8008
    wait
    rm -rf "$pages" "$pages.list"
fi

chosen UNIX && many bw_unix
chosen PIPE && many bw_pipe

# A section: its marker, and a program for each size.
section() {
    say
    say "$1"
    sizes=$2
    shift 2
    program=$1
    shift
    for size in $sizes; do many "$program" "$size" "$@"; done
    say
}
if chosen FILE; then
    section '"read bandwidth' "$ALL" bw_file_rd io_only "$FILE"
    section '"read open2close bandwidth' "$ALL" bw_file_rd open2close "$FILE"
fi
if chosen MMAP; then
    section '"Mmap read bandwidth' "$ALL" bw_mmap_rd mmap_only "$FILE"
    section '"Mmap read open2close bandwidth' "$ALL" bw_mmap_rd open2close "$FILE"
fi
rm -f "$FILE"
if chosen BCOPY; then
    section '"libc bcopy unaligned' "$HALF" bw_mem bcopy
    section '"libc bcopy aligned' "$HALF" bw_mem bcopy conflict
    section 'Memory bzero bandwidth' "$ALL" bw_mem bzero
    section '"unrolled bcopy unaligned' "$HALF" bw_mem fcp
    section '"unrolled partial bcopy unaligned' "$HALF" bw_mem cp
    section 'Memory read bandwidth' "$ALL" bw_mem frd
    section 'Memory partial read bandwidth' "$ALL" bw_mem rd
    section 'Memory write bandwidth' "$ALL" bw_mem fwr
    section 'Memory partial write bandwidth' "$ALL" bw_mem wr
    section 'Memory partial read/write bandwidth' "$ALL" bw_mem rdwr
fi
if chosen CTX; then
    for size in 0 4 8 16 32 64; do many lat_ctx -s $size 2 4 8 16 24 32 64 96; done
    say
fi
if chosen MEM; then
    if [ "$SYNC_MAX" = 1 ]; then
        one tlb -L "$LINE_SIZE" -M ${MB}M
        say
        say "Memory load parallelism"
        one par_mem -L "$LINE_SIZE" -M ${MB}M
        say
    fi
    many stream -M ${MB}M
    many stream -v 2 -M ${MB}M
    say
    say "Memory load latency"
    [ "$FASTMEM" = YES ] && strides=128 || strides="16 32 64 128 256 512 1024"
    many lat_mem_rd "$MB" $strides
    say
    say "Random load latency"
    many lat_mem_rd -t "$MB" 16
    say
fi
say "[$(date)]"
