# A recipe of Yocto: groma from source, and lmbench's names as a package of their own. The crates
# are listed by `bitbake -c update_crates groma`, which writes groma-crates.inc beside this file.
SUMMARY = "Measures what a computer's hardware and operating system cost"
DESCRIPTION = "Latencies and bandwidths of memory, system calls, processes, IPC, network and files, \
with the programs of lmbench 3 by their names."
SECTION = "benchmark/tests"
LICENSE = "MIT | Apache-2.0"
LIC_FILES_CHKSUM = "file://LICENSE-MIT;md5=1ff56a4a8beb1b77d3114573b6efb5f3 \
                    file://LICENSE-APACHE;md5=86d3f3a95c324c9479bd8986968f4327"

# Where you keep the source.
SRC_URI = "file://groma-${PV}.tar.gz"
require ${BPN}-crates.inc

inherit cargo cargo-update-recipe-crates

CARGO_BUILD_FLAGS += "--package groma"

# Nothing in the target's directories but the program and the links.
PACKAGES =+ "${PN}-lmbench"
FILES:${PN}-lmbench = "${libdir}/lmbench"
RDEPENDS:${PN}-lmbench = "${PN}"
RPROVIDES:${PN}-lmbench = "lmbench"
RCONFLICTS:${PN}-lmbench = "lmbench"
RREPLACES:${PN}-lmbench = "lmbench"

# The names are in the list beside this file, since the program does not run on the build machine.
SRC_URI += "file://programs"

do_install:append() {
    install -d ${D}${libdir}/lmbench/bin
    while read -r name; do
        ln -s ${bindir}/groma ${D}${libdir}/lmbench/bin/$name
    done < ${WORKDIR}/programs
}
