#!/bin/sh
# Runs the tests of the kernels for another CPU, under qemu's user emulation, on Debian 12, without
# changing the system:
#
#     crates/sys/tests/cross.sh aarch64        (or riscv64; more arguments go to `cargo test`)
#     crates/sys/tests/cross.sh aarch64 cargo build ...       (any command, with that compiler)
#
# Needs: apt-get install gcc-CPU-linux-gnu libc6-dev-DEBCPU-cross qemu-user-static.
#
# The compiler is Debian's own `rustc-web` of the security archive, because the next release has its
# standard library for every CPU, in the same version. Everything is unpacked below target/cross and
# nothing installed. The emulator of RISC-V is that of the next release too: Debian 12's does not
# answer hwprobe, which chooses the kernels. Emulated *times* mean nothing, and no test asserts one
# there.
#
# QEMU_CPU before the command names one CPU instead of those below, for example
# max,sve-default-vector-length=16 or max,sve=off.
set -eu
cpu=$1; shift
case $cpu in
    aarch64) deb=arm64 target=aarch64-unknown-linux-gnu 
        models='max,sve-default-vector-length=16 max' ;;
    # The base, and vectors of three lengths with all else that the emulator has.
    riscv64) deb=riscv64 target=riscv64gc-unknown-linux-gnu
        models='rv64,zicboz=false rv64,v=true,vlen=128 rv64,v=true,vlen=256 rv64,v=true,vlen=1024' ;;
    *) echo "cross.sh: no recipe for $cpu" >&2; exit 2 ;;
esac
models=${QEMU_CPU:-$models}
cd "$(dirname "$0")/../../.."
here=$PWD/target/cross; root=$here/root; debs=$here/debs
mkdir -p "$root" "$debs" "$here/lists/partial" "$here/cache/archives/partial"

# apt-get on the mirror that this machine already uses, for the next release, with lists of our own.
next() {
    apt-get -o Dir::Etc::SourceList="$here/trixie.list" -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists="$here/lists" -o Dir::Cache="$here/cache" \
        -o APT::Architectures::=amd64 -o APT::Architectures::="$deb" "$@"
}
update() {
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Codename: bookworm' | head -n 1)
    echo "deb [arch=amd64,$deb signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$here/trixie.list"
    next update
}

if [ ! -d "$root/usr/lib/rustlib/$target" ]; then
    update
    (cd "$debs" && next download "libstd-rust-web-dev:$deb" &&
        apt-get download rustc-web libstd-rust-web-dev libllvm22 \
            "$(apt-cache depends libstd-rust-web-dev | sed -n 's/.*Depends: \(libstd-rust-web-[0-9.]*\)$/\1/p')")
    for file in "$debs"/*.deb; do dpkg -x "$file" "$root"; done
fi
qemu=qemu-$cpu-static
if [ "$cpu" = riscv64 ]; then
    qemu=$root/usr/bin/qemu-riscv64
    if [ ! -x "$qemu" ]; then
        update
        (cd "$debs" && next download qemu-user:amd64)
        dpkg --fsys-tarfile "$debs"/qemu-user_*.deb | tar -x -C "$root" ./usr/bin/qemu-riscv64
        rm "$debs"/qemu-user_*.deb
    fi
fi

export LD_LIBRARY_PATH="$root/usr/lib/x86_64-linux-gnu" RUSTC="$root/usr/bin/rustc" CARGO_TARGET_DIR="$here/$cpu"
name=$(echo "$target" | tr a-z- A-Z_)
export "CARGO_TARGET_${name}_LINKER=$cpu-linux-gnu-gcc"
export "CARGO_TARGET_${name}_RUNNER=$qemu -L /usr/$cpu-linux-gnu"
if [ "${1:-}" = cargo ]; then exec "$@"; fi
# The tests of kernels; the others ask about the machine, which is emulated badly.
tests=$(cd crates/sys/tests && ls kernels*.rs disassembly.rs | sed 's/\.rs$//; s/^/--test /')
for model in $models; do
    echo "As $model:"
    # shellcheck disable=SC2086
    QEMU_CPU=$model cargo test -p groma-sys --target "$target" --no-fail-fast $tests "$@"
done
