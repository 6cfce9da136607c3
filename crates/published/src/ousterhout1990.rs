//! Ousterhout's paper of 1990.

use crate::{Document, Drawn, Picture, Quantity, SYSTEMS, Shape, Take, by, of, take, without};

const PENALTY: &str = "nothing is measured over a remote file system";

const TABLE1: &[Quantity] = &[without(
    "MIPS",
    "cpu.mips_rating",
    "",
    "a rating of the vendors; below the other tables stands what is taken for it",
)];
const TABLE2: &[Quantity] = &[
    of("getpid", "syscall.getpid", "", ""),
    take("MIPS-relative", "syscall.getpid.mips_relative", "", "", Take::Relative),
];
const TABLE3: &[Quantity] = &[
    of("cswitch", "pipe.latency", "procs=2 bytes=1", ""),
    take("MIPS-relative", "pipe.latency.mips_relative", "procs=2 bytes=1", "", Take::Relative),
];
const TABLE4: &[Quantity] = &[
    of("1 empty", "select.poll_pipes", "n=1 ready=0", "1 empty"),
    of("10 empty", "select.poll_pipes", "n=10 ready=0", "10 empty"),
    of("10 full", "select.poll_pipes", "n=10 ready=10", "10 full"),
    take("MIPS-relative", "select.poll_pipes.mips_relative", "n=10 ready=10", "10 full", Take::Relative),
];
const TABLE5: &[Quantity] = &[
    take("cached", "mem.bcopy_libc_bw", "cached=yes", "cached", Take::Half),
    take("uncached", "mem.bcopy_libc_bw", "cached=no", "uncached", Take::Half),
    take("Mbytes/MIPS", "mem.bcopy_libc_bw.mb_per_mips", "cached=no", "uncached", Take::PerMips),
];
const TABLE6: &[Quantity] = &[
    of("read", "file.reread_bw", "block=16K", ""),
    take("MIPS-relative", "file.reread_bw.mips_relative", "block=16K", "", Take::Relative),
];
const COPY: Take = Take::Outputs(&["mkdir", "copy", "stat", "read"]);
const COMPILE: Take = Take::Outputs(&["compile", "link"]);
const TOTAL: Take = Take::Outputs(&["mkdir", "copy", "stat", "read", "compile", "link"]);
const TABLE7: &[Quantity] = &[
    take("copy", "andrew.copy", "", "", COPY),
    take("compile", "andrew.compile", "", "", COMPILE),
    take("total", "andrew.total", "", "", TOTAL),
];
const TABLE8: &[Quantity] = &[
    take("MIPS-relative", "andrew.total.mips_relative", "", "", Take::Relative),
    without("remote penalty", "andrew.remote_penalty", "", PENALTY),
];
const TABLE9: &[Quantity] = &[
    of("foo", "file.open_close", "depth=1", "foo"),
    of("a/b/c/foo", "file.open_close", "depth=4", "a/b/c/foo"),
    take("MIPS-relative", "file.open_close.mips_relative", "depth=1", "foo", Take::Relative),
];
const TABLE10: &[Quantity] = &[
    of("no data", "file.create_delete", "bytes=0", "no data"),
    of("10 kbytes", "file.create_delete", "bytes=10240", "10 kbytes"),
    of("100 kbytes", "file.create_delete", "bytes=102400", "100 kbytes"),
    take("MIPS-relative", "file.create_delete.mips_relative", "bytes=0", "no data", Take::Relative),
];

const ELSEWHERE: &str = "of one system's file system or library";
const TEXT: &[Quantity] = &[
    without("getpid", "syscall.getpid", "", ELSEWHERE),
    without("create and delete, no data", "file.create_delete", "bytes=0", ELSEWHERE),
    without("create and delete, 10 kbytes", "file.create_delete", "bytes=10240", ELSEWHERE),
    without("create and delete, 100 kbytes", "file.create_delete", "bytes=102400", ELSEWHERE),
    without("write, 100 kbytes", "file.write_bw", "bytes=102400", ELSEWHERE),
];

const PICTURES: &[Picture] = &[Picture {
    name: "figure1",
    title: "Operating systems beside the speed of their processors",
    shows: "The paper's summary: the faster a processor, the less of its speed reaches what the operating system does. Its \
            figure prints no numbers; this one is drawn from the columns relative to MIPS of its tables, of several systems \
            on one machine the best, local files only.",
    drawn: Drawn::FromRelative,
}];

pub(crate) const DOCUMENT: Document = Document {
    name: "ousterhout1990",
    title: "Ousterhout, \"Why Aren't Operating Systems Getting Faster As Fast as Hardware?\", USENIX 1990",
    year: "1990",
    known_by: &["DS3100 Ultrix 3.1"],
    programs: &[],
    tables: tables! { "ousterhout1990";
        "table1": "Machines and their MIPS", "table01_mips_ratings", by(0), TABLE1;
        "table2": "getpid", "table02_getpid", by(0), TABLE2;
        "table3": "Round trip of a byte over two pipes (cswitch)", "table03_cswitch", by(0), TABLE3;
        "table4": "select over pipes", "table04_select", SYSTEMS, TABLE4;
        "table5": "bcopy", "table05_bcopy", by(0), TABLE5;
        "table6": "read of a cached file", "table06_read", by(0), TABLE6;
        "table7": "The modified Andrew benchmark", "table07_andrew", by(2), TABLE7;
        "table8": "The modified Andrew benchmark, relative to MIPS", "table08_andrew_relative", SYSTEMS, TABLE8;
        "table9": "open and close", "table09_open_close", by(0), TABLE9;
        "table10": "Create, write, close, read and delete a file", "table10_create_delete", by(0), TABLE10;
        "text": "Numbers in captions and prose", "text_values", Shape::Quantities, TEXT;
        "systems": "The machines", "systems", Shape::Raw, &[];
    },
    pictures: PICTURES,
};
