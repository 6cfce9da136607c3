//! Removes from a run what identifies the person who measured it: names and home directories of
//! users, addresses, secrets.
//!
//! Runs are shown to others. Every text that was typed, or quotes what was typed, passes through
//! here before it reaches the store, the stream and the views, which therefore agree. The worker's
//! job is not changed.

use groma_harness::model::{Fact, Param, ParamKind, Point, Remark, Round, RunHeader, Value};
use groma_harness::sys::facts::{HIDDEN, hide_addresses, user};
use std::ffi::OsString;
use std::path::PathBuf;

/// The parents of home directories.
const ABOVE_HOMES: [&str; 2] = ["/home/", "/Users/"];

/// Users that are not persons.
const SYSTEM_USERS: [&str; 2] = ["root", "nobody"];

/// Options whose value is an address or a secret.
const HIDDEN_OPTIONS: [&str; 3] = ["--host", "--bind", "--token"];

/// The names and directories to hide.
#[derive(Debug)]
pub struct Redactor {
    /// Home directories: absolute, without a trailing slash, the longest first.
    homes: Vec<String>,
    users: Vec<String>,
}

impl Redactor {
    /// A redactor for the user who runs this program, also through `sudo` or `doas`.
    pub fn of_this_user() -> Redactor {
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        Redactor::of(|name| std::env::var(name).ok(), &passwd, user())
    }

    /// A redactor for this user id, with these variables and this `/etc/passwd`.
    fn of(variable: impl Fn(&str) -> Option<String>, passwd: &str, uid: u32) -> Redactor {
        let mut users: Vec<String> =
            ["USER", "LOGNAME", "SUDO_USER", "DOAS_USER"].into_iter().filter_map(&variable).collect();
        let mut homes: Vec<String> = variable("HOME").into_iter().collect();
        // The variables may be those of another user.
        let uid = uid.to_string();
        for line in passwd.lines() {
            let fields: Vec<&str> = line.split(':').collect();
            if let [name, _, id, _, _, home, ..] = fields[..]
                && (id == uid || users.iter().any(|user| user == name))
            {
                users.push(name.to_owned());
                homes.push(home.to_owned());
            }
        }
        // A home directory may have a second path without symbolic links.
        let real = |home: &String| PathBuf::from(home).canonicalize().ok()?.into_os_string().into_string().ok();
        homes.extend(homes.iter().filter_map(real).collect::<Vec<_>>());
        Redactor::new(homes, users)
    }

    fn new(mut homes: Vec<String>, mut users: Vec<String>) -> Redactor {
        for home in &mut homes {
            home.truncate(home.trim_end_matches('/').len());
        }
        homes.retain(|home| home.starts_with('/'));
        homes.sort_by_key(|home| std::cmp::Reverse(home.len()));
        homes.dedup();
        // A number identifies no person, and would be hidden in half of all texts.
        users.retain(|user| user.contains(|c: char| !c.is_ascii_digit()) && !SYSTEM_USERS.contains(&user.as_str()));
        users.sort();
        users.dedup();
        Redactor { homes, users }
    }

    /// Redacts a text that was typed, or quotes what was typed.
    pub fn text(&self, text: &str) -> String {
        hide_addresses(&self.person(text))
    }

    /// Redacts a text without looking for addresses: facts of the machine hold none, but versions
    /// that look like addresses.
    fn person(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for home in &self.homes {
            // `/mnt/home/ann` is a home directory as well; `/dev/root` is not.
            let below = if home.matches('/').count() > 1 { "/(hidden)" } else { home };
            text = replace(&text, home, ends_name, |before| if is_path(before) { below } else { "~" });
        }
        for above in ABOVE_HOMES {
            text = hide_behind(&text, above);
        }
        for user in &self.users {
            let is_letter = |c: char| c.is_alphanumeric();
            let ends = |after: &str| !after.starts_with(is_letter);
            text = replace(&text, user, ends, |before| if before.ends_with(is_letter) { user } else { HIDDEN });
        }
        text
    }

    /// Redacts the arguments of the program.
    pub fn args(&self, args: impl Iterator<Item = OsString>) -> Vec<String> {
        let mut before = String::new();
        args.map(|arg| {
            let arg = arg.to_string_lossy().into_owned();
            let before = std::mem::replace(&mut before, arg.clone());
            let (option, value, sign) = match arg.split_once('=') {
                Some((option, value)) if option.starts_with("--") => (option, value, "="),
                _ => (before.as_str(), arg.as_str(), ""),
            };
            let shown = match (option, value.split_once('=')) {
                (option, _) if HIDDEN_OPTIONS.contains(&option) => HIDDEN.to_owned(),
                ("--param", Some((name, text))) => format!("{name}={}", self.param(name, text)),
                _ => self.text(value),
            };
            if sign.is_empty() { shown } else { format!("{option}={shown}") }
        })
        .collect()
    }

    /// Redacts the value of a parameter that takes any text.
    fn param(&self, name: &str, text: &str) -> String {
        if name == "command" { self.text(&redact_command(text)) } else { self.text(text) }
    }

    /// Redacts the header of a run. Facts that another machine reported may hold addresses.
    pub fn header(&self, head: &mut RunHeader) {
        for Fact { key, value } in &mut head.environment.facts {
            *value = if key.starts_with("remote.") { self.text(value) } else { self.person(value) };
        }
    }

    /// Returns a redacted point; `params` are those of its benchmark.
    pub fn point(&self, point: &Point, params: &[Param]) -> Point {
        let mut point = point.clone();
        for (name, value) in &mut point.params.0 {
            let takes_text = params.iter().any(|p| p.name == name && p.kind == ParamKind::Text);
            if let Value::Word(text) = value
                && takes_text
            {
                let shown = self.param(name, text);
                point.params_text =
                    point.params_text.replacen(&format!("{name}={text}"), &format!("{name}={shown}"), 1);
                *text = shown;
            }
        }
        point
    }

    /// Redacts a round.
    pub fn round(&self, round: &mut Round) {
        let result = &mut round.result;
        let remarks = result.output.remarks.iter_mut().filter_map(Remark::text_mut);
        let texts = result.output.facts.iter_mut().map(|fact| &mut fact.value).chain(remarks);
        for text in texts.chain([&mut result.reason]) {
            *text = self.text(text);
        }
    }
}

/// A command, redacted: the name of its program and, if it has arguments, a fingerprint of the
/// whole. Arguments may be files, addresses and passwords, but runs of different commands must
/// remain distinguishable.
fn redact_command(command: &str) -> String {
    let program = command.split_whitespace().next().unwrap_or_default();
    let name = program.rsplit('/').next().unwrap_or_default();
    if name == command {
        return name.to_owned();
    }
    // A text that does not begin with the name of a program is a shell script.
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c));
    format!("{} #{:08x}", if is_name { name } else { "sh" }, fingerprint(command))
}

/// FNV-1a of 64 bits folded to 32: the same on every machine and in every version. It distinguishes
/// commands but does not protect them: a guess can be verified.
fn fingerprint(text: &str) -> u32 {
    let hash = text
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    (hash >> 32) as u32 ^ hash as u32
}

/// Replaces `part` wherever `ends` accepts the text after it. `with` computes the replacement from
/// the text before it.
fn replace<'r>(text: &str, part: &str, ends: impl Fn(&str) -> bool, with: impl Fn(&str) -> &'r str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (at, found) in text.match_indices(part) {
        let after = at + found.len();
        if ends(&text[after..]) {
            out.push_str(&text[done..at]);
            out.push_str(with(&text[..at]));
            done = after;
        }
    }
    out + &text[done..]
}

/// Hides every name that follows `above`.
fn hide_behind(text: &str, above: &str) -> String {
    let mut parts = text.split(above);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(ends_path_name).unwrap_or(part.len());
        out.push_str(above);
        out.push_str(if end == 0 { "" } else { HIDDEN });
        out.push_str(&part[end..]);
    }
    out
}

/// Whether a character ends the name of a directory in a text. Names with spaces end too soon; the
/// rest is redacted like any other text.
fn ends_path_name(c: char) -> bool {
    c == '/' || c.is_whitespace() || "'\":;,".contains(c)
}

/// Whether a path ends before this text: `/root` is not part of `/rootfs`.
fn ends_name(after: &str) -> bool {
    !after.starts_with(|c: char| c.is_alphanumeric() || "._-".contains(c))
}

/// Whether the text before a path belongs to it: in `/mnt/root`, but not in `if=/root` or
/// `-o/root/x`.
fn is_path(before: &str) -> bool {
    let bare_option = before.len() == 2 && before.starts_with('-');
    before.ends_with(|c: char| c.is_alphanumeric() || "._-~)".contains(c)) && !bare_option
}

#[cfg(test)]
mod tests {
    use super::*;
    use groma_harness::model::{
        Host, Labels, Machine, Params, Placement, Profile, RoundOutput, RoundResult, SCHEMA, Timing, WorkerKind,
    };
    use std::collections::BTreeSet;

    fn ann() -> Redactor {
        Redactor::new(
            vec!["/home/ann/".to_owned(), "/".to_owned()],
            vec!["ann".to_owned(), "root".to_owned(), "17".to_owned()],
        )
    }

    #[test]
    fn homes_and_names_of_users_are_hidden_as_whole_words() {
        for (text, shown) in [
            ("/home/ann", "~"),
            ("/home/ann/x y", "~/x y"),
            ("on=/home/ann/x,/home/ann", "on=~/x,~"),
            ("-o/home/ann/x", "-o~/x"),
            ("/mnt/home/ann/x", "/mnt/(hidden)/x"),
            ("/home/bob/x: cannot be written", "/home/(hidden)/x: cannot be written"),
            ("/home/annabel", "/home/(hidden)"),
            ("/var/mail/ann", "/var/mail/(hidden)"),
            ("ann-laptop ann_2 ann@x", "(hidden)-laptop (hidden)_2 (hidden)@x"),
            ("/home/", "/home/"),
            ("planned by annabel, root, 17", "planned by annabel, root, 17"),
        ] {
            assert_eq!(ann().text(text), shown);
        }
        let root = Redactor::new(vec!["/root".to_owned()], Vec::new());
        assert_eq!(root.text("/root/x /rootfs /mnt/root /dev/root"), "~/x /rootfs /mnt/root /dev/root");
    }

    #[test]
    fn arguments_are_redacted() {
        let args = |text: &str| ann().args(text.split(' ').map(OsString::from)).join(" ");
        assert_eq!(args("run net --token abc --full"), "run net --token (hidden) --full");
        assert_eq!(args("run net --token=abc -P 2"), "run net --token=(hidden) -P 2");
        assert_eq!(args("run net --host 192.0.2.7 --host=box:1"), "run net --host (hidden) --host=(hidden)");
        assert_eq!(args("serve --bind 192.0.2.7 --bind=box:1"), "serve --bind (hidden) --bind=(hidden)");
        assert_eq!(args("run --param size=1 --param=on=/home/ann/x"), "run --param size=1 --param=on=~/x");
        assert_eq!(args("run --store=/home/ann/s -o /home/bob/x"), "run --store=~/s -o /home/(hidden)/x");
        assert_eq!(
            args("run --param command=/bin/true --param=command=true"),
            "run --param command=true #9d087b3b --param=command=true"
        );
    }

    #[test]
    fn commands_are_reduced_to_name_and_fingerprint() {
        assert_eq!(redact_command("gzip"), "gzip");
        assert_ne!(redact_command("gzip -1 data"), redact_command("gzip -9 data"));
        assert_eq!(redact_command("gzip -1 data"), redact_command("gzip -1 data"));
        for (text, name) in [
            ("/opt/x/curl -u me:pass https://x", "curl #"),
            ("PASSWORD=x curl", "sh #"),
            ("(cd /x; ls)", "sh #"),
            (" ls", "ls #"),
        ] {
            assert!(
                redact_command(text).starts_with(name) && redact_command(text).len() == name.len() + 8,
                "{}",
                redact_command(text)
            );
        }
    }

    /// Versions look like addresses, which are hidden only in facts of another machine.
    #[test]
    fn facts_keep_versions_and_those_of_another_machine_lose_addresses() {
        let facts = [
            ("kernel.release", "5.10.0.7-ann"),
            ("work_dir.device", "/home/ann/disk"),
            ("remote.host.name", "at 192.0.2.7, ann's"),
        ];
        let mut head = RunHeader {
            schema: SCHEMA,
            run: String::new(),
            started: String::new(),
            groma: String::new(),
            build: String::new(),
            args: Vec::new(),
            tags: BTreeSet::new(),
            in_turns: None,
            seed: 1,
            profile: Profile::Quick,
            budget_s: 1.0,
            environment: Machine { facts: facts.map(|(key, value)| Fact::new(key, value)).to_vec() },
            host: Host::UNKNOWN,
            noise: None,
            noise_lost: None,
            cpu_limit: None,
            remarks: Vec::new(),
        };
        ann().header(&mut head);
        let values: Vec<&str> = head.environment.facts.iter().map(|fact| fact.value.as_str()).collect();
        assert_eq!(values, ["5.10.0.7-(hidden)", "~/disk", "at (hidden), (hidden)'s"]);
    }

    #[test]
    fn every_text_of_a_round_is_redacted() {
        let mut output = RoundOutput { facts: vec![Fact::new("file", "/home/ann/x")], ..RoundOutput::default() };
        output.remarks = vec![Remark::Note("ann at 192.0.2.7".to_owned()), Remark::Unsteady];
        let mut round = Round { round: 3, result: RoundResult::ok(output) };
        round.result.reason = "/home/bob/y: no space".to_owned();
        ann().round(&mut round);
        let RoundResult { output, reason, .. } = &round.result;
        assert_eq!((output.facts[0].value.as_str(), reason.as_str()), ("~/x", "/home/(hidden)/y: no space"));
        assert_eq!(output.remarks, [Remark::Note("(hidden) at (hidden)".to_owned()), Remark::Unsteady]);
    }

    /// A word from a list identifies no person, and is needed to find results.
    #[test]
    fn only_parameters_that_take_any_text_are_redacted() {
        let params = [Param::text("on", ""), Param::text("command", ""), Param::word("op", "", &["ann"])];
        let values = [("on", "/home/ann/x"), ("command", "/bin/true"), ("op", "ann")];
        let point = Point {
            bench: "a.one".to_owned(),
            version: 1,
            params: Params(values.map(|(name, text)| (name.to_owned(), Value::Word(text.to_owned()))).to_vec()),
            params_text: values.map(|(name, text)| format!("{name}={text}")).join(" "),
            placement: Placement::Free,
            workers: 1,
            worker_kind: WorkerKind::Processes,
            timing: Timing::Batched,
            drops: Labels::NONE,
            target_half_width: 0.01,
            metrics: Vec::new(),
        };
        let kept = ann().point(&point, &params);
        let texts: Vec<String> = kept.params.0.iter().map(|(_, value)| value.to_string()).collect();
        assert_eq!(texts, ["~/x", "true #9d087b3b", "ann"]);
        assert_eq!(kept.params_text, "on=~/x command=true #9d087b3b op=ann");
        assert_eq!(point.params_text, "on=/home/ann/x command=/bin/true op=ann", "the job keeps what was typed");
    }

    /// With the variables of this process, which tests do not change.
    #[test]
    fn the_user_is_found_by_variables() {
        let redactor = Redactor::of_this_user();
        for name in ["USER", "LOGNAME"] {
            let Ok(user) = std::env::var(name) else { continue };
            let identifies = !SYSTEM_USERS.contains(&user.as_str()) && user.contains(|c: char| !c.is_ascii_digit());
            assert_eq!(redactor.text(&format!("<{user}>")) == "<(hidden)>", identifies, "{name}");
        }
        if let Some(home) = std::env::var("HOME").ok().filter(|home| home.len() > 1 && home.starts_with('/')) {
            assert_eq!(redactor.text(&format!("{home}/x")), "~/x");
        }
    }

    #[test]
    fn the_user_is_found_by_id_and_by_name() {
        const PASSWD: &str = "root:x:0:0:root:/none/root:/bin/sh\nann:x:1000:1000:Ann:/none/ann:/bin/sh\n\
                              bob:x:1001:1001::/none/bob:/bin/sh\neve:x:1002:1002::/none/eve:/bin/sh\nbroken:x:1000\n";
        let of = |variables: &[(&str, &str)], uid| {
            let variable =
                |name: &str| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
            let Redactor { homes, users } = Redactor::of(variable, PASSWD, uid);
            (homes.join(" "), users.join(" "))
        };
        let both = |homes: &str, users: &str| (homes.to_owned(), users.to_owned());
        assert_eq!(of(&[], 1000), both("/none/ann", "ann"));
        assert_eq!(of(&[("HOME", "/none/somewhere/")], 1000), both("/none/somewhere /none/ann", "ann"));
        // The user behind `sudo` or `doas` is found as well.
        assert_eq!(of(&[("SUDO_USER", "bob"), ("USER", "root")], 0), both("/none/root /none/bob", "bob"));
        assert_eq!(of(&[("DOAS_USER", "eve")], 0), both("/none/root /none/eve", "eve"));
        assert_eq!(of(&[("LOGNAME", "mia")], 1003), both("", "mia"));
    }
}
