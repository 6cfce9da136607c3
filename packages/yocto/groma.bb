# A recipe of Yocto: groma from the source of a release, and lmbench's names as a package of their
# own. packages/fill writes what stands between two @, the version into this file's name, and beside
# it groma-crates.inc, which `bitbake -c update_crates groma` would write too.
SUMMARY = "Measures what a computer's hardware and operating system cost"
DESCRIPTION = "Latencies and bandwidths of memory, system calls, processes, IPC, network and files, \
               with the programs of lmbench 3 by their names."
HOMEPAGE = "@URL@"
SECTION = "benchmark/tests"
LICENSE = "MIT | Apache-2.0"
LIC_FILES_CHKSUM = "file://LICENSE-MIT;md5=1ff56a4a8beb1b77d3114573b6efb5f3 \
                    file://LICENSE-APACHE;md5=86d3f3a95c324c9479bd8986968f4327"

SRC_URI = "@URL@/groma-${PV}.tar.gz"
SRC_URI[sha256sum] = "@SHA256@"
require ${BPN}-crates.inc

inherit cargo cargo-update-recipe-crates

CARGO_BUILD_FLAGS += "--package groma"

# The names are in a list of the source, since the program does not run on the build machine.
do_install:append() {
    install -d ${D}${libdir}/lmbench/bin
    while read -r name; do
        ln -s ${bindir}/groma ${D}${libdir}/lmbench/bin/$name
    done < ${S}/docs/lmbench/programs
}

# Nothing in the target's directories but the program and the links.
PACKAGES =+ "${PN}-lmbench"
FILES:${PN}-lmbench = "${libdir}/lmbench"
RDEPENDS:${PN}-lmbench = "${PN}"
RPROVIDES:${PN}-lmbench = "lmbench"
RREPLACES:${PN}-lmbench = "lmbench"
RCONFLICTS:${PN}-lmbench = "lmbench"
