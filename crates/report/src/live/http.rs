//! Pages served over HTTP to this machine alone: listens on 127.0.0.1, answers `GET` and `HEAD`, and rejects
//! foreign host names, since a foreign page could resolve its own to this server ("DNS rebinding").

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use tiny_http::{Header, Method, Request, Response};

use crate::html::{Live, notice};
use gputexel_io::{Error, Result};

const MAKERS: usize = 2;
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
    http: tiny_http::Server,
    site: Site,
    port: u16,
    stopped: AtomicBool,
}

/// Answers requests until it is dropped.
pub(crate) struct Server {
    shared: Arc<Shared>,
    makers: Vec<JoinHandle<()>>,
}

impl Server {
    /// Serves on a port of 127.0.0.1; 0 for any free one.
    pub(crate) fn start(port: u16, site: Site) -> Result<Self> {
        let fail = |error: std::io::Error| Error::io("live report", error);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = TcpListener::bind(address)
            .map_err(|e| Error::input("live report", format!("cannot listen on {address}: {e}")))?;
        let port = listener.local_addr().map_err(fail)?.port();
        let http = tiny_http::Server::from_listener(listener, None)
            .map_err(|e| fail(std::io::Error::other(e.to_string())))?;
        let shared = Arc::new(Shared { http, site, port, stopped: AtomicBool::new(false) });
        let mut server = Self { shared, makers: Vec::new() };
        for _ in 0..MAKERS {
            let shared = Arc::clone(&server.shared);
            let maker = std::thread::Builder::new().name("live".to_string());
            server.makers.push(maker.spawn(move || shared.answer_all()).map_err(fail)?);
        }
        Ok(server)
    }

    pub(crate) fn address(&self) -> String {
        format!("http://{}:{}/", Ipv4Addr::LOCALHOST, self.shared.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        self.makers.iter().for_each(|_| self.shared.http.unblock());
        for maker in self.makers.drain(..) {
            let _ = maker.join();
        }
    }
}

type Answer = Response<std::io::Cursor<Vec<u8>>>;

fn response(status: u16, kind: &str, policy: &str, body: Vec<u8>) -> Answer {
    let headers = [
        ("content-type", kind),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("content-security-policy", policy),
    ];
    let headers = headers.iter().filter_map(|(name, value)| Header::from_bytes(*name, *value).ok());
    let length = body.len();
    // Pages are sent with their length, never in chunks.
    Response::new(status.into(), headers.collect(), std::io::Cursor::new(body), Some(length), None)
        .with_chunked_threshold(usize::MAX)
}

fn plain(status: u16, text: &str) -> Answer {
    response(status, "text/plain; charset=utf-8", "default-src 'none'", text.into())
}

impl Shared {
    fn answer_all(&self) {
        while !self.stopped.load(Ordering::Acquire) {
            // Fails when it is unblocked at the end.
            let Ok(request) = self.http.recv() else { continue };
            let answer = self.answer(&request);
            // A client that reads slowly, or never ends its request, keeps no other waiting.
            let sender = std::thread::Builder::new().name("live page".to_string());
            let _ = sender.spawn(move || request.respond(answer));
        }
    }

    fn answer(&self, request: &Request) -> Answer {
        if !self.is_for_us(request) {
            return plain(421, "This page is for 127.0.0.1 only.");
        }
        if !matches!(request.method(), Method::Get | Method::Head) {
            return plain(405, "This page is read-only.");
        }
        let path = request.url();
        let live = Live { nonce: format!("{:016x}", RandomState::new().hash_one(path)), every: EVERY };
        let page = |status, policy: &str, body| response(status, "text/html; charset=utf-8", policy, body);
        match (self.site)(path, &live) {
            Ok(Content::Page(text)) => page(200, &live.policy(), text.into()),
            Ok(Content::Plain(text)) => page(200, Live::PLAIN, text),
            Ok(Content::Missing) => plain(404, "There is no such page."),
            // The page refreshes itself.
            Err(error) => {
                let text = notice("There is nothing to show yet", &error.to_string(), Some(&live));
                page(503, &live.policy(), text.into())
            }
        }
    }

    fn is_for_us(&self, request: &Request) -> bool {
        let hosts = request.headers().iter().filter(|header| header.field.equiv("Host"));
        let hosts: Vec<&str> = hosts.map(|header| header.value.as_str()).collect();
        let own = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        let [host] = hosts[..] else { return false };
        own.iter().any(|own| host.eq_ignore_ascii_case(own))
            && ["/", "*"].contains(&request.url().get(..1).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpStream;

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
