//! A NATS server for a test, its workers, and a client that writes and reads raw messages.

use crate::common::prelude::*;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

pub struct Server {
    program: PathBuf,
    config: PathBuf,
    child: Child,
    pub port: u16,
}

impl Server {
    /// Starts a server; prints a note and returns `None` if there is no such program. `more` is added to its
    /// configuration.
    pub fn start(bench: &Bench, more: &str) -> Option<Self> {
        // Distributions install it where only administrators look.
        let known = Path::new("/usr/sbin/nats-server");
        let program =
            requirement::find("nats-server").or_else(|| known.exists().then(|| known.to_path_buf()));
        let Some(program) = program else {
            requirement::lack("nats-server", "there is no program nats-server");
            return None;
        };
        // This port is free as long as nobody else takes it meanwhile.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let store = bench.path("js").display().to_string();
        let jetstream = if more.contains("jetstream") {
            String::new()
        } else {
            format!("jetstream {{ store_dir: \"{store}\" }}\n")
        };
        let more = more.replace("/var/lib/nats", &store);
        let config =
            bench.write("nats.conf", format!("host: \"127.0.0.1\"\nport: {port}\n{jetstream}{more}"));
        let child = spawn(&program, &config);
        let server = Self { program, config, child, port };
        server.wait();
        Some(server)
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn restart(&mut self) {
        self.child = spawn(&self.program, &self.config);
        self.wait();
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    fn wait(&self) {
        wait_until("the server listens", || TcpStream::connect(("127.0.0.1", self.port)).is_ok());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(program: &Path, config: &Path) -> Child {
    let (out, err) = (Stdio::null(), Stdio::null());
    Command::new(program).arg("-c").arg(config).stdin(Stdio::null()).stdout(out).stderr(err).spawn().unwrap()
}

/// A process of this program that is killed at the end of the test.
pub struct Process(pub Option<Child>);

impl Process {
    pub fn start(bench: &Bench, args: impl Words) -> Self {
        Self(Some(bench.spawn(args)))
    }

    /// Starts a worker with one slot.
    pub fn worker(bench: &Bench, url: &str, name: &str) -> Self {
        Self::start(bench, ["worker", url, "--name", name, "--concurrency", "1"])
    }

    pub fn signal(&self, name: &str) {
        let process = self.0.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([name, &process]).status().unwrap().success());
    }

    pub fn kill(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Waits for the process to end; returns exit code, standard output, standard error.
    pub fn finish(mut self) -> (Option<i32>, String, String) {
        let child = self.0.as_mut().unwrap();
        wait_until("a process ends", || child.try_wait().unwrap().is_some());
        let output = self.0.take().unwrap().wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    /// Ends the process as Ctrl-C does.
    pub fn interrupt(self) -> (Option<i32>, String, String) {
        self.signal("-INT");
        self.finish()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A client that sends arbitrary messages.
pub struct Raw {
    reader: BufReader<TcpStream>,
}

impl Raw {
    /// Connects; `login` is added to the usual fields of CONNECT.
    pub fn connect(port: u16, login: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut raw = Self { reader: BufReader::new(stream) };
        raw.send(format!("CONNECT {{\"verbose\":false,\"pedantic\":false{login}}}\r\n").as_bytes());
        raw
    }

    pub fn send(&mut self, bytes: &[u8]) {
        self.reader.get_mut().write_all(bytes).unwrap();
    }

    pub fn publish(&mut self, subject: &str, payload: &[u8]) {
        let head = format!("PUB {subject} {}\r\n", payload.len());
        self.send(&[head.as_bytes(), payload, b"\r\n"].concat());
    }

    pub fn flush(&mut self) {
        self.send(b"PING\r\n");
        while self.line() != "PONG" {}
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.reader.read_line(&mut line).unwrap() > 0, "the server has closed the connection");
        let line = line.trim_end().to_string();
        if line == "PING" {
            self.send(b"PONG\r\n");
        }
        line
    }

    pub fn refusal(&mut self) -> String {
        loop {
            let line = self.line();
            if line.starts_with("-ERR") {
                return line;
            }
        }
    }

    /// Returns the next message of a subscription: its subject and payload.
    pub fn message(&mut self) -> (String, Vec<u8>) {
        loop {
            let line = self.line();
            let words: Vec<&str> = line.split(' ').collect();
            if words[0] != "MSG" {
                continue;
            }
            let mut payload = vec![0; words[words.len() - 1].parse::<usize>().unwrap() + 2];
            self.reader.read_exact(&mut payload).unwrap();
            payload.truncate(payload.len() - 2);
            return (words[1].to_string(), payload);
        }
    }
}
