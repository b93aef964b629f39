//! Reads the attempts of the corpus.
//!
//! `[NUMBER NAME] CONTROL`, then shell. An attempt breaches when its last command succeeds; where a
//! line begins with `?`, when that command succeeds outside afterwards. `CONTROL` says what happens
//! without a sandbox: `breach` for sure, or `-` for something that depends on the machine. `works`
//! must succeed everywhere.

const FILES: [&str; 7] = [
    include_str!("works.txt"),
    include_str!("files.txt"),
    include_str!("git.txt"),
    include_str!("processes.txt"),
    include_str!("network.txt"),
    include_str!("kernel.txt"),
    include_str!("limits.txt"),
];

/// What happens without a sandbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    Breach,
    Unknown,
    Works,
}

#[derive(Clone, Debug)]
pub struct Attempt {
    pub number: &'static str,
    pub name: &'static str,
    pub control: Control,
    pub shell: String,
    /// What tells outside whether it succeeded.
    pub check: Option<&'static str>,
}

pub fn attempts() -> Vec<Attempt> {
    let mut found: Vec<Attempt> = Vec::new();
    for line in FILES.iter().flat_map(|text| text.lines()) {
        if let Some((name, control)) = line.strip_prefix('[').and_then(|it| it.split_once("] ")) {
            let (number, name) = name.split_once(' ').unwrap();
            let control = match control {
                "breach" => Control::Breach,
                "works" => Control::Works,
                "-" => Control::Unknown,
                _ => panic!("{line}"),
            };
            assert!(found.iter().all(|it| it.number != number), "{line}");
            found.push(Attempt {
                number,
                name,
                control,
                shell: String::new(),
                check: None,
            });
        } else if !line.is_empty() && !line.starts_with('#') {
            let attempt = found.last_mut().unwrap();
            match line.strip_prefix("? ") {
                Some(check) => attempt.check = Some(check),
                None => attempt.shell.extend([line, "\n"]),
            }
        }
    }
    found
}
