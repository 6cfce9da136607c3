#!/bin/sh
# Makes the links and the program that the Phoronix Test Suite starts, in its directory for this
# test. The log holds the lines of results only: what a program tells of them goes to the terminal.
set -eu
mkdir -p bin
groma lmbench --install "$PWD/bin"
cat >groma-lmbench <<'PROGRAM'
#!/bin/sh
program=$1
shift
"${0%/*}/bin/$program" "$@" 2>"$LOG_FILE"
PROGRAM
chmod +x groma-lmbench
