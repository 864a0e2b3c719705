//! Pages served over HTTP to this machine alone: listens on 127.0.0.1, answers `GET` and `HEAD`, and rejects
//! foreign host names, since a foreign page could resolve its own to this server ("DNS rebinding").

use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::html::{Live, notice};
use gputexel_io::{Error, Result};

/// Time that a client has to ask, and to take each part of the answer.
const PATIENCE: Duration = Duration::from_secs(10);
const HEAD_BYTES: usize = 1 << 16;
/// Seconds after which a page refreshes itself.
const EVERY: u32 = 3;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    Page(String),
    Plain(Vec<u8>),
    Missing,
}

pub(crate) type Site = Box<dyn Fn(&str, &Live) -> Result<Content> + Send + Sync>;

struct Shared {
    site: Site,
    port: u16,
    stopped: AtomicBool,
}

/// Answers requests until it is dropped.
pub(crate) struct Server {
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves on a port of 127.0.0.1; 0 for any free one.
    pub(crate) fn start(port: u16, site: Site) -> Result<Self> {
        let fail = |error: std::io::Error| Error::io("live report", error);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = TcpListener::bind(address)
            .map_err(|e| Error::input("live report", format!("cannot listen on {address}: {e}")))?;
        let port = listener.local_addr().map_err(fail)?.port();
        let shared = Arc::new(Shared { site, port, stopped: AtomicBool::new(false) });
        let ours = Arc::clone(&shared);
        let listening = named("live").spawn(move || ours.listen(&listener)).map_err(fail)?;
        Ok(Self { shared, listening: Some(listening) })
    }

    pub(crate) fn address(&self) -> String {
        format!("http://{}:{}/", Ipv4Addr::LOCALHOST, self.shared.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        // It waits for a client.
        let is_told = TcpStream::connect((Ipv4Addr::LOCALHOST, self.shared.port)).is_ok();
        let _ = self.listening.take().filter(|_| is_told).map(JoinHandle::join);
    }
}

fn named(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.to_string())
}

struct Request<'a> {
    method: &'a str,
    path: &'a str,
    hosts: Vec<&'a str>,
}

impl<'a> Request<'a> {
    fn read(head: &'a str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let words: Vec<&str> = lines.next()?.split(' ').collect();
        let [method, path, version] = words[..] else { return None };
        let headers = lines.filter_map(|line| line.split_once(':'));
        let hosts = headers.filter(|(name, _)| name.eq_ignore_ascii_case("host"));
        let hosts = hosts.map(|(_, host)| host.trim()).collect();
        version.starts_with("HTTP/1.").then_some(Self { method, path, hosts })
    }
}

/// Everything until the empty line; `None` if it does not come in time.
fn head_of(stream: &mut TcpStream) -> Option<String> {
    let until = Instant::now() + PATIENCE;
    let (mut head, mut part) = (Vec::new(), [0; 4096]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())?;
        stream.set_read_timeout(Some(left)).ok()?;
        let count = stream.read(&mut part).ok().filter(|&count| count > 0)?;
        head.extend_from_slice(&part[..count]);
        (head.len() <= HEAD_BYTES).then_some(())?;
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

struct Answer {
    status: &'static str,
    kind: &'static str,
    policy: String,
    body: Vec<u8>,
}

impl Answer {
    fn plain(status: &'static str, text: &str) -> Self {
        let policy = "default-src 'none'".to_string();
        Self { status, kind: "text/plain; charset=utf-8", policy, body: text.into() }
    }

    fn send(&self, stream: &mut TcpStream, with_body: bool) -> std::io::Result<()> {
        let head = format!(
            "HTTP/1.1 {}\r\ncontent-type: {}\r\ncontent-length: {}\r\ncontent-security-policy: {}\r\n\
             cache-control: no-store\r\nx-content-type-options: nosniff\r\nx-frame-options: DENY\r\n\
             referrer-policy: no-referrer\r\ncross-origin-resource-policy: same-origin\r\nconnection: close\r\n\r\n",
            self.status,
            self.kind,
            self.body.len(),
            self.policy
        );
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(head.as_bytes())?;
        stream.write_all(if with_body { &self.body } else { &[] })?;
        stream.shutdown(Shutdown::Write)?;
        // Closed with something unread, it would take the answer back.
        std::io::copy(&mut stream.take(HEAD_BYTES as u64), &mut std::io::sink()).map(|_| ())
    }
}

impl Shared {
    fn listen(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.stopped.load(Ordering::Acquire) {
                return;
            }
            let Ok(mut stream) = stream else {
                // No more files can be opened until other clients have been answered.
                std::thread::sleep(Duration::from_millis(100));
                continue;
            };
            let shared = Arc::clone(self);
            // A client that is silent, or reads slowly, keeps no other waiting.
            let _ = named("live page").spawn(move || {
                let head = head_of(&mut stream)?;
                let request = Request::read(&head);
                let with_body = request.as_ref().is_none_or(|request| request.method != "HEAD");
                let answer = request.map(|request| shared.answer(&request));
                let answer = answer
                    .unwrap_or_else(|| Answer::plain("400 Bad Request", "This is not an HTTP request."));
                answer.send(&mut stream, with_body).ok()
            });
        }
    }

    fn answer(&self, request: &Request<'_>) -> Answer {
        if !self.is_for_us(request) {
            return Answer::plain("421 Misdirected Request", "This page is for 127.0.0.1 only.");
        }
        if !["GET", "HEAD"].contains(&request.method) {
            return Answer::plain("405 Method Not Allowed", "This page is read-only.");
        }
        let path = request.path;
        let live = Live { nonce: format!("{:016x}", RandomState::new().hash_one(path)), every: EVERY };
        let kind = "text/html; charset=utf-8";
        let page = |status, body| Answer { status, kind, policy: live.policy(), body };
        match (self.site)(path, &live) {
            Ok(Content::Page(text)) => page("200 OK", text.into()),
            Ok(Content::Plain(body)) => Answer { status: "200 OK", kind, policy: Live::PLAIN.into(), body },
            Ok(Content::Missing) => Answer::plain("404 Not Found", "There is no such page."),
            // The page refreshes itself.
            Err(error) => {
                let text = notice("There is nothing to show yet", &error.to_string(), Some(&live));
                page("503 Service Unavailable", text.into())
            }
        }
    }

    fn is_for_us(&self, request: &Request<'_>) -> bool {
        let own = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        let [host] = request.hosts[..] else { return false };
        own.iter().any(|own| host.eq_ignore_ascii_case(own))
            && ["/", "*"].contains(&request.path.get(..1).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(port: u16, request: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn get(port: u16, line: &str, host: &str) -> String {
        ask(port, &format!("{line} HTTP/1.1\r\nConnection: close\r\nHost: {host}\r\n\r\n"))
    }

    fn site(path: &str, live: &Live) -> Result<Content> {
        Ok(match path.split('?').next().unwrap_or_default() {
            "/" => Content::Page(format!("<p>{}", live.nonce)),
            "/file" => Content::Plain(b"<p>file".to_vec()),
            _ => Content::Missing,
        })
    }

    #[test]
    fn only_the_page_is_served_and_only_under_its_own_name() {
        let server = Server::start(0, Box::new(site)).unwrap();
        let port = server.shared.port;
        assert_eq!(server.address(), format!("http://127.0.0.1:{port}/"));
        let own = format!("127.0.0.1:{port}");
        let page = get(port, "GET /", &own);
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("connect-src 'self'"), "{page}");
        for line in ["x-frame-options: DENY", "cache-control: no-store"] {
            assert!(page.contains(line), "{line}: {page}");
        }
        let plain = get(port, "GET /file", &own);
        assert!(plain.ends_with("<p>file") && !plain.contains("script-src"), "{plain}");
        let nonce = page.rsplit("<p>").next().unwrap();
        assert!(nonce.len() == 16 && page.contains(&format!("'nonce-{nonce}'")), "{page}");
        assert_ne!(nonce, get(port, "GET /", &own).rsplit("<p>").next().unwrap(), "one nonce for two pages");
        assert!(get(port, "GET /?x=1", &format!("LOCALHOST:{port}")).starts_with("HTTP/1.1 200"));
        let head = get(port, "HEAD /", &own);
        assert!(head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"), "{head}");
        for (line, host, status) in [
            ("GET /", "evil.example".to_string(), "421"),
            ("GET /", format!("evil.example:{port}"), "421"),
            ("GET /", "127.0.0.1".to_string(), "421"),
            ("GET /", format!("127.0.0.1:{port}.evil.example"), "421"),
            ("GET /", format!("{own}\r\nHost: evil.example"), "421"),
            ("GET /run.json", own.clone(), "404"),
            ("GET /../Cargo.toml", own.clone(), "404"),
            ("GET http://evil.example/", own.clone(), "421"),
            ("OPTIONS *", own.clone(), "405"),
            ("CONNECT evil.example:80", own.clone(), "421"),
            ("DELETE /", own.clone(), "405"),
            ("POST /", own.clone(), "405"),
            ("nonsense", own.clone(), "400"),
        ] {
            let answer = get(port, line, &host);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line} {host}: {answer}");
            assert!(!answer.contains("<p>"));
        }
        let nameless = ask(port, "GET / HTTP/1.1\r\nConnection: close\r\n\r\n");
        assert!(nameless.starts_with("HTTP/1.1 421"), "{nameless}");
        drop(server);
        let is_gone = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err();
        assert!(
            (0..250).any(|_| is_gone() || {
                std::thread::sleep(std::time::Duration::from_millis(20));
                false
            }),
            "the server is there"
        );
    }

    #[test]
    fn silent_clients_harm_no_other() {
        let server = Server::start(0, Box::new(site)).unwrap();
        let port = server.shared.port;
        let _silent: Vec<TcpStream> =
            (0..100).map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap()).collect();
        let own = format!("127.0.0.1:{port}");
        assert!(get(port, "GET /", &own).starts_with("HTTP/1.1 200 "));
    }

    #[test]
    fn a_taken_port_is_an_error() {
        let first = Server::start(0, Box::new(site)).unwrap();
        let Err(error) = Server::start(first.shared.port, Box::new(site)) else { panic!("taken twice") };
        assert!(error.exit_code() == 1 && error.to_string().contains("cannot listen on"), "{error}");
    }
}
