//! The code of this test program, as GNU `objdump` shows it (for a foreign program the one that
//! comes with its linker).
#![allow(dead_code, reason = "no test program uses all of it")]

use std::process::Command;

/// The name of a call, or a prefix of it.
const CALL: &str = match std::env::consts::ARCH.as_bytes() {
    b"x86_64" => "call",
    b"aarch64" => "bl",
    // jal, jalr
    _ => "jal",
};

/// An instruction: where it is in the file, and its text with single spaces.
#[derive(Debug)]
pub(crate) struct Instruction {
    pub(crate) address: usize,
    pub(crate) text: String,
}

impl Instruction {
    pub(crate) fn name(&self) -> &str {
        self.text.split(' ').next().unwrap()
    }

    /// The address as written in a load or store.
    pub(crate) fn memory(&self) -> Option<&str> {
        let (open, close) = if cfg!(target_arch = "riscv64") { (' ', ')') } else { ('[', ']') };
        let end = self.text.find(close)?;
        let operands = self.text[..end].rsplit(open).next()?;
        Some(if cfg!(target_arch = "riscv64") { operands.split_once(',')?.1 } else { operands })
    }

    pub(crate) fn is_call(&self) -> bool {
        // RISC-V jumps with a call that saves no return address.
        self.name().starts_with(CALL) && !self.text.contains(" zero,")
    }

    /// The target of a jump or call.
    pub(crate) fn target(&self) -> Option<usize> {
        let operands = self.text.split_once(" <")?.0;
        usize::from_str_radix(operands.rsplit([' ', ',']).next()?.trim_start_matches("0x"), 16).ok()
    }
}

/// The address in the file of what is at `address` in memory: this program may be loaded anywhere.
pub(crate) fn in_file(address: usize) -> usize {
    let program = std::env::current_exe().unwrap();
    // ELF: the type is at byte 16, and 3 is a position-independent program.
    if std::fs::read(&program).unwrap()[16] != 3 {
        return address;
    }
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let start = maps.lines().find(|line| line.ends_with(&*program.to_string_lossy())).unwrap();
    address - usize::from_str_radix(start.split('-').next().unwrap(), 16).unwrap()
}

/// The instructions of the function at `address` of the file, or nothing where there is no objdump.
pub(crate) fn disassemble(address: usize) -> Option<Vec<Instruction>> {
    let foreign = format!("{}-linux-gnu-objdump", std::env::consts::ARCH);
    let output = [&*foreign, "objdump"].into_iter().find_map(|objdump| {
        let mut command = Command::new(objdump);
        command.args(["--disassemble", "--no-show-raw-insn", "--wide"]);
        match std::env::consts::ARCH {
            "x86_64" => command.arg("--disassembler-options=intel"),
            "riscv64" => command.arg("--disassembler-options=no-aliases"),
            _ => &mut command,
        };
        command.arg(format!("--start-address={address:#x}")).arg(format!("--stop-address={:#x}", address + 0x4000));
        command.arg(std::env::current_exe().unwrap()).output().ok().filter(|output| output.status.success())
    });
    let Some(output) = output else {
        println!("skipped: there is no objdump for {} here", std::env::consts::ARCH);
        return None;
    };
    let text = String::from_utf8(output.stdout).unwrap();
    // "0000000000012340 <name>:", then instructions, then an empty line.
    let function = text.split_once(&format!("{address:016x} <")).expect("no function begins there").1;
    let lines = function.lines().skip(1).take_while(|line| !line.trim().is_empty());
    let instruction = |line: &str| {
        let (address, text) = line.split_once(':')?;
        // On Arm a comment repeats a number.
        let text = text.split("//").next()?;
        Some(Instruction {
            address: usize::from_str_radix(address.trim(), 16).ok()?,
            text: text.split_whitespace().collect::<Vec<_>>().join(" "),
        })
    };
    Some(lines.filter_map(instruction).collect())
}

/// The innermost loop of a function: the shortest backward jump, from its target to the jump.
pub(crate) fn innermost(function: &[Instruction]) -> &[Instruction] {
    let loops = function.iter().enumerate().filter_map(|(end, jump)| {
        let start = jump.target().filter(|target| *target < jump.address && !jump.is_call())?;
        Some(&function[function.iter().position(|instruction| instruction.address == start)?..=end])
    });
    loops.min_by_key(|body| body.len()).expect("no loop")
}
