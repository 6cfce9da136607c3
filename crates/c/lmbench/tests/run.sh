#!/bin/sh
# Builds the library and its tests, and runs them. CC is the compiler. With GROMA_LIBS, the options
# that link libgroma, the tests that measure run too.
set -u
here=$(cd "$(dirname "$0")/.." && pwd)
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
# As pkg-config says of an installed library.
rpc=$(sh "$here/rpc-options" "${CC:-cc}") || exit 1
rpc_libs=${rpc#*|}
flags="-std=gnu11 -O2 -Wall -Wextra -Werror -I$here/include -I$here/../include ${rpc%%|*}"
passed=0 failed=0

result() {
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok      $2"
    else
        failed=$((failed + 1))
        echo "FAILED  $2"
    fi
}

for source in "$here"/*.c; do
    # Options are several words.
    # shellcheck disable=SC2086
    ${CC:-cc} $flags -c "$source" -o "$out/$(basename "$source" .c).o" || exit 1
done
ar rcs "$out/libgroma-lmbench.a" "$out"/*.o

# Without an engine: what the library refers to, for tests that never call it.
for name in measure_here member start stop end end_errno; do
    echo "void groma_$name(void) { __builtin_trap(); }"
done | ${CC:-cc} -x c -c - -o "$out/no-engine.o" || exit 1

for source in "$here"/tests/*.c; do
    name=$(basename "$source" .c)
    case $name in
    measure) [ -n "${GROMA_LIBS-}" ] || { echo "skipped $name: GROMA_LIBS is not set"; continue; } ;;
    esac
    engine=${GROMA_LIBS:-$out/no-engine.o}
    # shellcheck disable=SC2086
    ${CC:-cc} $flags "$source" -o "$out/$name" "$out/libgroma-lmbench.a" $engine -lm $rpc_libs &&
        "$out/$name"
    result $? "$name"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
