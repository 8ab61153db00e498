//! Tests documents in Postgres, with a test server over TLS that has the tables of deploy/postgres.

use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{World, says, status, text, tool};

/// Four drives, one of them behind a degraded link.
const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/fixtures/links.json");
const MIGRATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/postgres/migrate.sql");
/// User id of the server if the tests run as root: Postgres refuses root.
const NOBODY: u32 = 65534;
/// Password of the nodes.
const PASSWORD: &str = r"pass:wo\rd";

/// A server with a database `fleet`, logins of two nodes and a reader, and a certificate of its own
/// authority.
struct Server {
    folder: tempfile::TempDir,
    programs: PathBuf,
    port: u16,
}

impl Server {
    fn new() -> Self {
        let installed =
            std::fs::read_dir("/usr/lib/postgresql").expect("this test needs postgresql");
        let programs = installed.map(|entry| entry.unwrap().path().join("bin"));
        let programs = programs.filter(|bin| bin.join("initdb").exists()).max();
        // Socket names must be short, and other users than root need access.
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let server = Self { folder, programs: programs.expect("this test needs initdb"), port };
        if rustix::process::geteuid().is_root() {
            chown(server.folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        server.certify();
        let data = server.path("data");
        server.own(
            "initdb",
            &["-D", &data, "-U", "admin", "-A", "trust", "-N", "-E", "UTF8", "--locale=C"],
        );
        let settings = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = '{0}'\nfsync = off\n\
             ssl = on\nssl_cert_file = '{0}/server.crt'\nssl_key_file = '{0}/server.key'\n",
            server.folder.path().display()
        );
        let access = "local all admin trust\nlocal all all scram-sha-256\nhostssl all all 127.0.0.1/32 scram-sha-256\n";
        std::fs::write(server.folder.path().join("data/postgresql.auto.conf"), settings).unwrap();
        std::fs::write(server.folder.path().join("data/pg_hba.conf"), access).unwrap();
        server.start();
        server.admin("postgres", "CREATE DATABASE fleet");
        server
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    /// Creates an authority and its certificate for this machine.
    fn certify(&self) {
        let curve =
            ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
        let (ca, ca_key) = (self.path("ca.crt"), self.path("ca.key"));
        let authority = ["-x509", "-subj", "/CN=authority", "-keyout", &ca_key, "-out", &ca];
        self.plain("openssl", &[&["req"], &curve[..], &authority].concat());
        let (request, key) = (self.path("server.csr"), self.path("server.key"));
        let asked = ["-subj", "/CN=server", "-keyout", &key, "-out", &request];
        self.plain("openssl", &[&["req"], &curve[..5], &asked].concat());
        let (of, certificate) = (self.path("of"), self.path("server.crt"));
        self.plain("sh", &["-c", "echo subjectAltName=DNS:localhost > \"$0\"", &of]);
        let signed =
            ["-CA", &ca, "-CAkey", &ca_key, "-CAcreateserial", "-days", "2", "-extfile", &of];
        let files = ["x509", "-req", "-in", &request, "-out", &certificate];
        self.plain("openssl", &[&files[..], &signed].concat());
    }

    /// Runs a program as the server's user.
    fn plain(&self, program: &str, arguments: &[&str]) -> String {
        let ids = format!("--reuid={NOBODY}");
        let group = format!("--regid={NOBODY}");
        match rustix::process::geteuid().is_root() {
            true => {
                let as_nobody = [&ids, &group, "--clear-groups", program];
                tool("setpriv", &[&as_nobody[..], arguments].concat())
            }
            false => tool(program, arguments),
        }
    }

    /// Runs one of Postgres's own programs.
    fn own(&self, program: &str, arguments: &[&str]) -> String {
        self.plain(self.programs.join(program).to_str().unwrap(), arguments)
    }

    fn start(&self) {
        let (data, log) = (self.path("data"), self.path("log"));
        self.own("pg_ctl", &["-D", &data, "-l", &log, "-w", "start"]);
    }

    fn stop(&self) {
        self.own("pg_ctl", &["-D", &self.path("data"), "-m", "fast", "-w", "stop"]);
    }

    fn psql(&self, user: &str, database: &str, words: &[&str]) -> Output {
        let port = self.port.to_string();
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-U", user, "-d", database]);
        command.args(["-h", self.folder.path().to_str().unwrap(), "-p", &port]).args(words);
        command.env("PGPASSWORD", PASSWORD).output().unwrap()
    }

    #[track_caller]
    fn admin(&self, database: &str, sql: &str) -> String {
        let output = self.psql("admin", database, &["-c", sql]);
        status(&output, 0);
        text(&output.stdout).trim().to_owned()
    }

    /// Follows deploy/postgres/README.md literally.
    fn prepare(&self) {
        for _ in 0..2 {
            let made = self.psql("admin", "fleet", &["-f", MIGRATE]);
            status(&made, 0);
            assert_eq!(text(&made.stdout) + &text(&made.stderr), "");
        }
        for (login, role) in
            [("n1", "iodyno_node"), ("n2", "iodyno_node"), ("reader", "iodyno_reader")]
        {
            self.admin(
                "fleet",
                &format!("CREATE ROLE {login} LOGIN PASSWORD '{PASSWORD}' IN ROLE {role}"),
            );
        }
        assert_eq!(self.admin("fleet", "SELECT number FROM iodyno.version"), "1");
    }

    fn url(&self, user: &str) -> String {
        format!("postgres://{user}@localhost:{}/fleet", self.port)
    }

    /// iodyno in `world`, which trusts the server and has its password in a file.
    fn command(&self, world: &World, words: &[&str]) -> Command {
        let file = world.path("passwords");
        let password = PASSWORD.replace('\\', r"\\").replace(':', r"\:");
        std::fs::write(&file, format!("localhost:{}:fleet:*:{password}\n", self.port)).unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        let mut command = world.command();
        command.args(words).env("SSL_CERT_FILE", self.path("ca.crt")).env("PGPASSFILE", &file);
        command.env_remove("PGPASSWORD");
        command
    }

    fn run(&self, world: &World, words: &[&str]) -> Output {
        self.command(world, words).output().unwrap()
    }

    /// Runs `accept` on a node.
    fn accept(&self, world: &World, node: &str) -> Output {
        let url = self.url(node);
        let words = ["accept", "quick", "--sysroot", MACHINE, "--push", &url];
        self.command(world, &words).env("NODE_NAME", node).output().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have been stopped already.
        let data = self.path("data");
        if Path::new(&data).join("postmaster.pid").exists() {
            self.own("pg_ctl", &["-D", &data, "-m", "immediate", "-w", "stop"]);
        }
    }
}

/// Puts a document for `to` into the outbox, as `accept` does.
fn keep(world: &World, name: &str, document: &str, to: &str) {
    let outbox = world.directory("store.sqlite.outbox");
    std::fs::write(outbox.join(name), document).unwrap();
    std::fs::write(outbox.join(format!("{name}.to")), format!("[{to:?}]")).unwrap();
}

#[test]
fn nodes_push_over_tls_and_one_reads_them_all() {
    let server = Server::new();
    server.prepare();
    let folder = World::new();
    let shared = folder.directory("shared");
    for node in ["n1", "n2"] {
        let world = World::new();
        let words =
            ["accept", "quick", "--sysroot", MACHINE, "--push", shared.to_str().unwrap(), "--push"];
        let mut command = server.command(&world, &words);
        let pushed = command.arg(server.url(node)).env("NODE_NAME", node).output().unwrap();
        // The exit status is the machine's verdict.
        says(&pushed, 1, "pushed: 1");
        // Pushed again, the same bytes under the same name are the same row.
        let name = folder.files("shared").into_iter().find(|name| name.starts_with(node)).unwrap();
        let document = std::fs::read_to_string(shared.join(&name)).unwrap();
        keep(&world, &name, &document, &server.url(node));
        status(&server.run(&world, &["runs", "push"]), 0);
        let rows = format!("SELECT count(*) FROM iodyno.document WHERE owner = '{node}'");
        assert_eq!(server.admin("fleet", &rows), "1");
        assert_eq!(
            server.admin(
                "fleet",
                &format!("SELECT name FROM iodyno.document WHERE owner = '{node}'")
            ),
            name
        );
        // Different bytes are refused.
        keep(&world, &name, "{}", &server.url(node));
        says(&server.run(&world, &["runs", "push"]), 4, "another document");
        let kept = server.admin(
            "fleet",
            &format!("SELECT body::text FROM iodyno.document WHERE owner = '{node}'"),
        );
        assert_eq!(kept, document.trim());
    }
    let world = World::new();
    let read = server.run(&world, &["runs", "fleet", &server.url("reader")]);
    status(&read, 0);
    let of_folder = world.run(&["runs", "fleet", shared.to_str().unwrap()]);
    assert_eq!(text(&read.stdout), text(&of_folder.stdout));
    assert!(text(&read.stdout).contains(" drives on "), "{}", text(&read.stdout));
    // Documents judged by another ruleset are judged anew; invalid ones are reported, and the
    // others shown.
    server.admin(
        "fleet",
        "INSERT INTO iodyno.document (owner, name, body) \
         SELECT 'old', 'old', jsonb_set( \
             replace(body::text, '\"ruleset\": \"', '\"ruleset\": \"0')::jsonb, '{id}', '\"old\"') \
         FROM iodyno.document WHERE owner = 'n1'; \
         INSERT INTO iodyno.document (owner, name, body) VALUES ('evil', 'x', '{\"schema\": 1}')",
    );
    let read = server.run(&world, &["runs", "fleet", &server.url("reader")]);
    assert!(text(&read.stderr).contains("evil/x"), "{}", text(&read.stderr));
    let (first, all) = (text(&read.stdout), text(&of_folder.stdout));
    let expected = format!("{}, 1 older run", all.lines().next().unwrap());
    assert!(first.starts_with(&expected), "{first}");
}

#[test]
fn a_node_sees_and_changes_nothing_of_another() {
    let server = Server::new();
    server.prepare();
    let world = World::new();
    for (node, document) in [("n1", "{\"of\": 1}"), ("n2", "{\"of\": 2}")] {
        // Both nodes use the same name without conflict.
        keep(&world, "n1.0.run.json", document, &server.url(node));
        status(&server.run(&world, &["runs", "push"]), 0);
    }
    let all = "SELECT owner, name, body FROM iodyno.document ORDER BY owner";
    let rows = "n1|n1.0.run.json|{\"of\": 1}\nn2|n1.0.run.json|{\"of\": 2}";
    assert_eq!(server.admin("fleet", all), rows);
    let as_node = |sql: &str| server.psql("n2", "fleet", &["-c", sql]);
    assert_eq!(text(&as_node(all).stdout).trim(), rows.lines().last().unwrap());
    for sql in [
        "UPDATE iodyno.document SET body = '{}'",
        "DELETE FROM iodyno.document",
        "TRUNCATE iodyno.document",
        "INSERT INTO iodyno.document (owner, name, body) VALUES ('n1', 'x', '{}')",
        "INSERT INTO iodyno.document (name, body, pushed) VALUES ('x', '{}', now())",
        "INSERT INTO iodyno.document (name, body) VALUES ('n1.0.run.json', '{}') \
         ON CONFLICT (owner, name) DO UPDATE SET body = '{}'",
        "ALTER TABLE iodyno.document DISABLE ROW LEVEL SECURITY",
        "DROP POLICY own ON iodyno.document",
        "SET SESSION AUTHORIZATION n1",
        "SET ROLE iodyno_reader",
        "CREATE TABLE iodyno.mine (x int)",
        "INSERT INTO iodyno.version VALUES (2)",
        "INSERT INTO iodyno.document (name, body) VALUES ('x', 'no json')",
    ] {
        let output = as_node(sql);
        assert!(!output.status.success(), "{sql}: {}", text(&output.stdout));
    }
    // The row's owner is the login, not a role that it is a member of.
    let owner = "SET ROLE iodyno_node; INSERT INTO iodyno.document (name, body) VALUES ('y', '{}') RETURNING owner";
    assert_eq!(text(&as_node(owner).stdout).trim(), "n2");
    let by_reader = server.psql(
        "reader",
        "fleet",
        &["-c", "INSERT INTO iodyno.document (name, body) VALUES ('x', '{}')"],
    );
    assert!(!by_reader.status.success());
    assert_eq!(
        server
            .admin("fleet", all)
            .lines()
            .filter(|row| !row.contains("|y|"))
            .collect::<Vec<_>>()
            .join("\n"),
        rows
    );
}

#[test]
fn mistakes_are_told_and_nothing_is_lost() {
    let server = Server::new();
    let world = World::new();
    let told = |output: &Output, what: &str| {
        let said = text(&output.stderr);
        assert!(said.contains(what) && !said.contains("pass:"), "{what}: {said}");
    };
    server.admin("fleet", &format!("CREATE ROLE n1 LOGIN PASSWORD '{PASSWORD}'"));
    let accepted = server.accept(&world, "n1");
    status(&accepted, 1);
    told(&accepted, "migrate.sql");
    let secret = format!("postgres://n1:secret@localhost:{}/fleet", server.port);
    for words in [&["accept", "quick", "--push", &secret][..], &["runs", "fleet", &secret]] {
        let refused = server.run(&world, words);
        status(&refused, 2);
        assert!(
            text(&refused.stderr).contains("@FILE") && !text(&refused.stderr).contains("secret")
        );
    }
    server.admin("fleet", "DROP ROLE n1");
    server.prepare();
    let push = |change: &dyn Fn(&mut Command)| {
        let mut command = server.command(&world, &["runs", "push"]);
        change(&mut command);
        command.output().unwrap()
    };
    // Untrusted certificate, wrong password, and a password file readable by others.
    told(&push(&|command| _ = command.env("SSL_CERT_FILE", "/dev/null")), "certificate");
    told(
        &push(&|command| _ = command.env("PGPASSWORD", "wrong")),
        "password authentication failed",
    );
    let open = world.path("open");
    std::fs::write(&open, "*:*:*:*:x\n").unwrap();
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o644)).unwrap();
    told(&push(&|command| _ = command.env("PGPASSFILE", &open)), "chmod 600");
    server.stop();
    let away = push(&|_| ());
    status(&away, 4);
    told(&away, "1 left");
    server.start();
    server.admin("fleet", "INSERT INTO iodyno.version (number) VALUES (1000)");
    told(&push(&|_| ()), "use a newer iodyno");
    server.admin("fleet", "DELETE FROM iodyno.version WHERE number = 1000");
    status(&push(&|_| ()), 0);
    assert!(world.files("store.sqlite.outbox").is_empty());
    assert_eq!(server.admin("fleet", "SELECT owner FROM iodyno.document"), "n1");
    // By a socket, and by a URL in a file.
    let url = world.path("url");
    let folder = server.folder.path().display();
    std::fs::write(&url, format!("postgres://reader@/fleet?host={folder}&port={}\n", server.port))
        .unwrap();
    let read = server.run(&world, &["runs", "fleet", &format!("@{}", url.display())]);
    status(&read, 0);
    assert!(text(&read.stdout).contains("n1") || text(&read.stdout).contains("drives on 1 host"));
}

#[test]
fn a_server_that_never_answers_holds_nobody_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let world = World::new();
    let url = format!("postgres://n1@{}/fleet", silent.local_addr().unwrap());
    let began = std::time::Instant::now();
    let words = ["accept", "quick", "--sysroot", MACHINE, "--deadline", "3s", "--push", &url];
    let output = world.run(&words);
    status(&output, 1);
    let said = text(&output.stderr);
    assert!(said.contains("no answer in time") && said.contains("1 left"), "{said}");
    assert!(began.elapsed().as_secs() < 60, "{:?}", began.elapsed());
}
