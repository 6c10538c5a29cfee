//! Which files there are, and how one is played.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Address, Server, Tool, cached, number, program};

/// Beside a file, the options that its server must be started with.
const OPTIONS: [&str; 2] = ["-master.opt", ".opt"];

/// Beside a file, what asks for more than options.
const SETTINGS: [&str; 4] = ["-slave.opt", ".cnf", ".combinations", "-master.sh"];

/// Options that are meant for the servers' own test driver.
const OF_DRIVER: [&str; 5] = [
    "--force-restart",
    "--testcase-timeout=",
    "--nowarnings",
    "--no-console",
    "--timezone=",
];

/// How long one may take.
const SECONDS: &str = "60";

/// The test files of the server that tests run on.
pub(super) struct Files {
    /// The program that plays them.
    program: PathBuf,
    /// Where they are looked for, and what they include.
    folder: PathBuf,
    all: Vec<File>,
    /// How many ask for a server of their own, and are left out.
    pub(super) left_out: usize,
}

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct File {
    /// The suite's name and its own.
    pub(super) name: String,
    /// Below the folder of all.
    path: PathBuf,
    /// What its server is started with.
    pub(super) options: Vec<String>,
}

/// What came of playing a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Played {
    pub(super) is_success: bool,
    pub(super) output: String,
}

impl Files {
    /// `None` if they have not been unpacked.
    pub(super) fn find() -> Option<Self> {
        let (program, main) = match Server::is_mariadb() {
            true => ("mariadb-test", "main"),
            false => ("mysqltest", "t"),
        };
        let place = cached("suites")?.join(Server::chosen().installation().name());
        place.join(".version").is_file().then_some(())?;
        let folder = place.join("files");
        let suites = std::env::var("MYRIAD_SUITE").unwrap_or_else(|_| "main".into());
        let (mut all, mut left_out) = (Vec::new(), 0);
        for suite in suites.split(',') {
            let below = match suite {
                "main" => PathBuf::from(main),
                other => Path::new("suite").join(other),
            };
            // Most have their files in a folder of their own.
            let tests = below.join("t");
            let is_there = folder.join(&tests).is_dir();
            let (files, others) = tests_of(&folder, suite, if is_there { &tests } else { &below });
            all.extend(files);
            left_out += others;
        }
        // Each of these needs a server of its own.
        all.sort_by_key(|file| !file.options.is_empty());
        Some(Self {
            program: place.join(program),
            folder,
            all,
            left_out,
        })
    }

    /// One in so many, of those that are asked for.
    pub(super) fn chosen(&self, every: usize) -> Vec<File> {
        let parts = std::env::var("MYRIAD_SUITE_FILES").unwrap_or_default();
        let is_asked = |file: &&File| parts.split(',').any(|part| file.name.contains(part));
        let asked = self.all.iter().filter(is_asked);
        asked.step_by(every.max(1)).cloned().collect()
    }

    /// What stands in them all.
    pub(super) fn texts(&self) -> Vec<String> {
        let read = |file: &File| std::fs::read(self.folder.join(&file.path)).unwrap();
        let texts = self.all.iter().map(read);
        texts
            .map(|text| String::from_utf8_lossy(&text).into_owned())
            .collect()
    }

    /// What files load.
    pub(super) fn data(&self) -> PathBuf {
        self.folder.join("std_data")
    }

    /// The options of a file, for a server whose files may be written to `vardir`.
    pub(super) fn options(&self, file: &File, vardir: &Path) -> Vec<String> {
        let of = |path: &Path| path.display().to_string();
        let places = [
            ("$MYSQLTEST_VARDIR", of(vardir)),
            ("$MYSQL_TMP_DIR", of(&vardir.join("tmp"))),
            ("$MYSQL_TEST_DIR", of(&self.folder)),
        ];
        let placed = |option: &String| {
            let place = |option: String, (name, path): &(&str, String)| option.replace(name, path);
            places.iter().fold(option.clone(), place)
        };
        file.options.iter().map(placed).collect()
    }

    /// Plays one as root. `vardir` is where it may write.
    pub(super) fn play(&self, file: &File, address: &Address, vardir: &Path) -> Played {
        let player = self.player(&self.folder.join(&file.path), address, vardir);
        let output = Command::new("timeout")
            .args(["--kill-after=5", SECONDS])
            .arg(player.get_program())
            .args(player.get_args())
            .envs(
                player
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = [output.stdout, b"\n--\n".to_vec(), output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        Played {
            is_success: output.status.success(),
            output: without_costs(&said.replace(&socket(address), "SOCKET")),
        }
    }

    /// The program that plays a file as root.
    pub(super) fn player(&self, file: &Path, address: &Address, vardir: &Path) -> Command {
        let installation = Server::chosen().installation();
        let mut player = localdb::command_of(installation, &self.program).unwrap();
        let path = |below: &str| vardir.join(below).display().to_string();
        let files = self.folder.display();
        player
            .args([
                "--no-defaults",
                "--user=root",
                "--database=test",
                "--silent",
            ])
            .arg(format!("--socket={}", socket(address)))
            .arg(format!("--tmpdir={}", path("tmp")))
            .arg(format!("--logdir={}", path("log")))
            .arg(format!("--basedir={files}/"))
            .arg("--max-connect-retries=50")
            .arg(format!("--test-file={}", file.display()))
            .args(arguments())
            .envs([
                ("MYSQLTEST_VARDIR", vardir.display().to_string()),
                ("MYSQL_TMP_DIR", path("tmp")),
                ("MYSQL_TEST_DIR", files.to_string()),
                ("MASTER_MYSOCK", socket(address)),
                ("MASTER_MYPORT", "1".into()),
                ("TZ", "GMT-3".into()),
                ("LC_ALL", "C".into()),
                ("MYSQL", spoken(Tool::Client, address)),
                ("MYSQL_DUMP", spoken(Tool::Dump, address)),
            ])
            .current_dir(&self.folder)
            .stdin(Stdio::null());
        player
    }
}

/// Files are played over these.
fn socket(address: &Address) -> String {
    match address {
        Address::Unix(socket) => socket.display().to_string(),
        other => panic!("files are played over unix sockets, not {other:?}"),
    }
}

/// Plans without what they are thought to cost: that is estimated anew each time, from pages that are chosen by chance.
fn without_costs(output: &str) -> String {
    const COST: &str = "(cost=";
    let mut parts = output.split(COST);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| {
        let rest = part.split_once(')').map_or(part, |(_, rest)| rest);
        before + rest
    })
}

/// What else the program is given.
fn arguments() -> Vec<String> {
    let arguments = std::env::var("MYRIAD_SUITE_ARGUMENTS").unwrap_or_default();
    arguments.split_whitespace().map(str::to_owned).collect()
}

/// A program of the server as root, as a file's `exec` runs it.
fn spoken(tool: Tool, address: &Address) -> String {
    let command = program(tool, address);
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    let words = words
        .filter(|word| *word != "--user=app")
        .map(OsStr::to_string_lossy);
    words.collect::<Vec<_>>().join(" ") + " --user=root"
}

/// The tests of a suite, and how many of them are left out.
fn tests_of(folder: &Path, suite: &str, below: &Path) -> (Vec<File>, usize) {
    let entries = std::fs::read_dir(folder.join(below))
        .unwrap_or_else(|error| panic!("suite {suite}: {error}"));
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names
        .filter_map(|name| Some(name.strip_suffix(".test")?.to_owned()))
        .collect();
    names.sort_unstable();
    let file = |name: &String| {
        Some(File {
            name: format!("{}.{name}", suite.replace('/', "_")),
            path: below.join(format!("{name}.test")),
            options: options(&folder.join(below), name)?,
        })
    };
    let files: Vec<File> = names.iter().filter_map(file).collect();
    let left_out = names.len() - files.len();
    (files, left_out)
}

/// What the server of a test is started with; `None` if that is more than options, or they are not wanted.
fn options(folder: &Path, name: &str) -> Option<Vec<String>> {
    let beside = |end: &&str| folder.join(format!("{name}{end}"));
    if SETTINGS.iter().any(|end| beside(end).exists()) {
        return None;
    }
    let texts = OPTIONS.iter().map(beside).filter(|path| path.exists());
    let texts: Vec<String> = texts
        .map(|path| String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned())
        .collect();
    if !texts.is_empty() && number("MYRIAD_SUITE_OPTIONS", 0) == 0 {
        return None;
    }
    let lines = texts.iter().flat_map(|text| text.lines());
    let words = lines
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace);
    let for_server = |word: &&str| !OF_DRIVER.iter().any(|known| word.starts_with(known));
    words.filter(for_server).map(option).collect()
}

/// An option that means the same here; `None` if it asks for what only the servers' own test driver has.
fn option(word: &str) -> Option<String> {
    let known = ["$MYSQLTEST_VARDIR", "$MYSQL_TMP_DIR", "$MYSQL_TEST_DIR"];
    let rest = known
        .iter()
        .fold(word.to_owned(), |word, known| word.replace(known, ""));
    let is_strange = !word.starts_with("--") || rest.contains(['$', '"', '\'', '@']);
    let of_other_builds = word.starts_with("--debug") || word.starts_with("--initialize");
    (!is_strange && !of_other_builds).then(|| word.to_owned())
}
