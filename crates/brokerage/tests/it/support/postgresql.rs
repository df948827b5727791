//! A private PostgreSQL: a cluster of its own in a temporary folder, on a Unix socket.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use netstudy_records::BrokerageDatabase;

use super::{Folder, skipped};

/// The role and the database that initdb makes.
const ROLE: &str = "netstudy";
const DATABASE: &str = "postgres";
/// It is only part of the socket's name.
const PORT: u16 = 5432;
/// Whom root lets the server run as: it refuses root.
const ORDINARY_USER: &str = "nobody";

/// A cluster, which is stopped and removed with the value.
pub(crate) struct Postgresql {
    programs: PathBuf,
    folder: Folder,
}

impl Postgresql {
    /// Makes a cluster and starts it. None where it cannot be, with the reason on standard error.
    pub(crate) fn start(test: &str) -> Option<Self> {
        Self::start_in(Folder::new(), test)
    }

    /// The same in a folder.
    pub(crate) fn start_in(folder: Folder, test: &str) -> Option<Self> {
        let Some(programs) = programs() else {
            skipped(test, "needs PostgreSQL; install it: apt-get install postgresql");
            return None;
        };
        let server = Self { programs, folder };
        if is_root() {
            chown(&server.folder.0);
        }
        let data = server.data();
        server.run("initdb", &["-D", &data, "-U", ROLE, "-A", "trust", "-N", "-E", "UTF8"]);
        server.go_up();
        Some(server)
    }

    pub(crate) fn database(&self) -> BrokerageDatabase {
        BrokerageDatabase::Postgresql {
            host: self.folder.0.to_str().expect("the path is text").to_owned(),
            port: PORT,
            user: ROLE.to_owned(),
            database: DATABASE.to_owned(),
            password: None,
        }
    }

    /// A database of a role with a password.
    pub(crate) fn database_with_password(&self, password: &str) -> BrokerageDatabase {
        self.psql(&format!("CREATE ROLE trade LOGIN PASSWORD '{password}'"));
        self.psql("CREATE DATABASE trade OWNER trade");
        let path = format!("{}/pg_hba.conf", self.data());
        let admission = std::fs::read_to_string(&path).expect("initdb has made it");
        let asks = format!("local trade trade scram-sha-256\n{admission}");
        std::fs::write(&path, asks).expect("it may be changed");
        self.psql("SELECT pg_reload_conf()");
        let (user, database) = ("trade".to_owned(), "trade".to_owned());
        let BrokerageDatabase::Postgresql { host, port, .. } = self.database() else {
            unreachable!("it is a server")
        };
        let password = Some(netstudy_records::Secret::from(password));
        BrokerageDatabase::Postgresql { host, port, user, database, password }
    }

    pub(crate) fn go_up(&self) {
        let folder = self.folder.0.to_str().expect("the path is text");
        let options = format!("-k {folder} -c listen_addresses='' -c fsync=off -p {PORT}");
        let (data, log) = (self.data(), self.folder.join("log"));
        self.run("pg_ctl", &["-D", &data, "-l", &log, "-w", "-o", &options, "start"]);
    }

    /// Starts it where it has ended itself.
    pub(crate) fn come_back(&self) {
        let (data, status) = (self.data(), std::process::Stdio::null());
        let mut command = self.command("pg_ctl", &["-D", &data, "status"]);
        if !command.stdout(status).status().expect("pg_ctl starts").success() {
            self.go_up();
        }
        let folder = self.folder.0.to_str().expect("the path is text");
        let mut asked =
            std::iter::repeat_with(|| self.command("pg_isready", &["-q", "-h", folder]));
        let is_ready = asked
            .by_ref()
            .take(1_000)
            .any(|mut command| command.status().expect("pg_isready starts").success());
        assert!(is_ready, "it does not come back");
    }

    /// Where it lives.
    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// As if it crashed.
    pub(crate) fn go_down(&self) {
        self.run("pg_ctl", &["-D", &self.data(), "-m", "immediate", "-w", "stop"]);
    }

    /// The server's output for these statements, each in a transaction of its own.
    pub(crate) fn psql(&self, statements: &str) -> String {
        let output = self.run("psql", &self.psql_arguments(statements));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// The same, while the caller goes on.
    pub(crate) fn psql_meanwhile(&self, statements: &str) -> std::process::Child {
        let mut command = self.command("psql", &self.psql_arguments(statements));
        command.stdout(std::process::Stdio::null()).spawn().expect("psql starts")
    }

    /// Waits until a statement counts something.
    pub(crate) fn wait_for(&self, count: &str) {
        let mut answers = std::iter::repeat_with(|| self.psql(count)).take(1_000);
        assert!(answers.any(|answer| answer != "0"), "never: {count}");
    }

    fn psql_arguments<'a>(&'a self, statements: &'a str) -> [&'a str; 9] {
        let folder = self.folder.0.to_str().expect("the path is text");
        ["-h", folder, "-U", ROLE, "-d", DATABASE, "-qAtc", statements, "-X"]
    }

    fn data(&self) -> String {
        self.folder.join("data")
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Output {
        // pg_ctl's server keeps the pipes of its caller open: output goes to its log.
        let mut command = self.command(program, arguments);
        if program == "pg_ctl" {
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            let status = command.status().expect("the program starts");
            assert!(status.success(), "{program} {arguments:?}: {status}");
            return Output { status, stdout: Vec::new(), stderr: Vec::new() };
        }
        let output = command.output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {said}");
        output
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let path = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", ORDINARY_USER, "--regid", "nogroup", "--clear-groups"]);
            command.arg(path);
            command
        } else {
            Command::new(path)
        };
        command.args(arguments).current_dir("/");
        command
    }
}

impl Drop for Postgresql {
    fn drop(&mut self) {
        let data = self.data();
        let stop = ["-D", &data, "-m", "immediate", "-w", "stop"];
        let _ = self.command("pg_ctl", &stop).stdout(std::process::Stdio::null()).status();
    }
}

/// The folder of the newest release.
fn programs() -> Option<PathBuf> {
    let releases = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut folders: Vec<PathBuf> =
        releases.filter_map(Result::ok).map(|entry| entry.path().join("bin")).collect();
    folders.retain(|folder| folder.join("initdb").exists());
    folders.sort();
    folders.pop()
}

pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

fn chown(folder: &Path) {
    let status = Command::new("chown").arg(ORDINARY_USER).arg(folder).status();
    assert!(status.is_ok_and(|status| status.success()), "root may give a folder away");
}
