//! The pages of `docs` show commands and their output: each command runs here, and must print the lines of
//! the page.
//!
//! A block `console` has commands after `$ ` and their output below them. A line `…` stands for any lines,
//! and `…` at the end of a line for any text. A block `ini` of the cloud page is the file of profiles.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use s3_server::{Config, Server};

use crate::{ncz, out, text};

const SST: &str = "netcdf sst { dimensions: time = UNLIMITED ; x = 3 ; variables: float sst(time, x) ; \
                   sst:units = \"celsius\" ; data: sst = 1.5, 2.5, 3.5, 4.5, 5.5, 6.5 ; }";

/// The commands of one block, with the output on the page.
type Block = Vec<(String, String)>;

#[test]
fn local_pages_print_their_lines() {
    for name in ["getting-started.md", "tool.md"] {
        let page = page(name);
        let home = tempfile::tempdir().unwrap();
        copy_folder(&root().join("examples/data/ocean.zarr"), &home.path().join("ocean.zarr"));
        std::fs::write(home.path().join("small.cdl"), SST).unwrap();
        check(&page, |command| shell(command, &[], home.path()), str::to_owned);
    }
}

#[test]
fn the_cloud_page_prints_its_lines() {
    let plugins = out(&["plugins"]);
    if !["s3", "http"].iter().all(|name| plugins.contains(&format!("\nmap           {name}"))) {
        return;
    }
    let page = page("cloud.md");
    let server = Server::start(Config::default().anonymous("ocean-data").web("web"));
    let home = tempfile::tempdir().unwrap();
    let local = |page: &str| {
        let page = page.replace("https://data.example.org", &format!("{}/web", server.url()));
        page.replace("https://s3.example.org", &server.url())
    };
    make_data(&server, home.path());
    std::fs::create_dir(home.path().join(".aws")).unwrap();
    let profiles: String = blocks(&page, "ini").collect();
    std::fs::write(home.path().join(".aws/config"), local(&profiles)).unwrap();
    let endpoint = [("AWS_ENDPOINT_URL", server.url())];
    check(&page, |command| shell(&local(command), &endpoint, home.path()), local);
}

#[test]
fn the_page_lists_every_flag_of_copy() {
    let (page, help) = (page("copy.md"), out(&["copy", "--help"]));
    let flags = help.split(|c: char| c.is_whitespace() || ",[]<>=".contains(c)).filter(|word| {
        let name = word.trim_start_matches('-');
        word.starts_with("--") && name.len() > 1 && name.chars().all(|c| c.is_ascii_lowercase() || c == '-')
    });
    let missing: Vec<&str> =
        flags.filter(|flag| *flag != "--help" && !page.contains(&format!("`{flag}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join("docs").join(name)).unwrap()
}

/// Runs the commands of all blocks. `local` replaces addresses in the page's output.
fn check(page: &str, run: impl Fn(&str) -> String, local: impl Fn(&str) -> String) {
    let (mut commands, mut wrong) = (0, String::new());
    for block in blocks(page, "console").map(|block| parse(&block)) {
        let mut exports = String::new();
        for (command, expected) in block {
            if command.starts_with("export ") {
                writeln!(exports, "{command}").unwrap();
                continue;
            }
            commands += 1;
            let found = run(&format!("{exports}{command}"));
            if !matches(&local(&expected), &found) {
                write!(wrong, "$ {command}\nthe page says:\n{expected}the command prints:\n{found}\n")
                    .unwrap();
            }
        }
    }
    assert!(wrong.is_empty() && commands > 0, "{wrong}");
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in walk(from) {
        let target = to.join(entry.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(&entry, target).unwrap();
    }
}

/// A file and a store of the same data, in a bucket without keys and on a web server.
fn make_data(server: &Server, home: &Path) {
    let (cdl, file) = (home.join("sst.cdl"), home.join("sst.nc"));
    std::fs::write(&cdl, SST).unwrap();
    out(&["gen", "-o", text(&file), text(&cdl)]);
    let store = home.join("sst.zarr");
    out(&["gen", "-o", &format!("{}#mode=zarr,consolidated", text(&store)), text(&cdl)]);
    for bucket in ["ocean-data", "web"] {
        server.put(bucket, "sst.nc", std::fs::read(&file).unwrap());
        for entry in walk(&store) {
            let key = entry.strip_prefix(home).unwrap();
            server.put(bucket, text(key), std::fs::read(&entry).unwrap());
        }
    }
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// The text of each block of a language.
fn blocks<'p>(page: &'p str, language: &str) -> impl Iterator<Item = String> + use<'p> {
    let begin = format!("\n```{language}\n");
    let parts: Vec<&str> = page.split(&begin).skip(1).collect();
    parts.into_iter().map(|part| format!("{}\n", part.split("\n```").next().unwrap()))
}

fn parse(block: &str) -> Block {
    let mut commands = Block::new();
    for line in block.lines() {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command.to_owned(), String::new())),
            (None, Some((_, output))) => writeln!(output, "{line}").unwrap(),
            (None, None) => panic!("the page shows output before a command: {line}"),
        }
    }
    commands
}

/// Standard output and error of a command, in a folder that is also the home.
fn shell(command: &str, variables: &[(&str, String)], home: &Path) -> String {
    let program = ncz().get_program().to_owned();
    let folder = Path::new(&program).parent().unwrap().to_owned();
    let mut shell = Command::new("sh");
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| name.starts_with("AWS_") || name.starts_with("NC")) {
            shell.env_remove(name);
        }
    }
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    shell.args(["-c", &format!("{{\n{command}\n}} 2>&1")]).current_dir(home);
    shell.env("PATH", path).env("HOME", home).envs(variables.iter().map(|(name, value)| (name, value)));
    String::from_utf8(shell.output().unwrap().stdout).unwrap()
}

/// Returns whether a command printed the lines of the page.
fn matches(expected: &str, found: &str) -> bool {
    fn rest(expected: &[&str], found: &[&str]) -> bool {
        match expected {
            [] => found.is_empty(),
            ["…", more @ ..] => (0..=found.len()).any(|skipped| rest(more, &found[skipped..])),
            [line, more @ ..] => {
                let is_equal = |found: &&str| match line.strip_suffix('…') {
                    Some(start) => found.starts_with(start),
                    None => found == line,
                };
                found.first().is_some_and(is_equal) && rest(more, &found[1..])
            }
        }
    }
    rest(&expected.lines().collect::<Vec<_>>(), &found.lines().collect::<Vec<_>>())
}
