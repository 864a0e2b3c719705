//! Pages served over HTTP to this machine alone: listens on 127.0.0.1, answers `GET` and `HEAD`, and rejects
//! foreign host names, since a foreign page could resolve its own to this server ("DNS rebinding").

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tiny_http::{Header, Method, Request, Response};

use crate::html::{Live, notice};
use gputexel_io::{Error, Result};

const MAKERS: usize = 2;
const POLL: Duration = Duration::from_millis(20);
const EVERY: u32 = 3;
/// A page that has been requested within this time is still open somewhere.
const RECENT: Duration = Duration::from_secs(3 * EVERY as u64);

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
const NO_SOURCES: &str = "default-src 'none'";

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
    sending: AtomicUsize,
    last_request: Mutex<Option<Instant>>,
}

pub(crate) struct Server {
    shared: Arc<Shared>,
    makers: Vec<JoinHandle<()>>,
}

pub(crate) struct Bound(TcpListener);

fn fail(error: std::io::Error) -> Error {
    Error::io("live report", error)
}

impl Bound {
    /// Binds a port of 127.0.0.1; 0 for any free one.
    pub(crate) fn new(port: u16) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        TcpListener::bind(address)
            .map(Self)
            .map_err(|e| Error::input("live report", format!("cannot listen on {address}: {e}")))
    }

    pub(crate) fn address(&self) -> Result<String> {
        Ok(format!("http://{}/", self.0.local_addr().map_err(fail)?))
    }

    pub(crate) fn serve(self, site: Site) -> Result<Server> {
        let port = self.0.local_addr().map_err(fail)?.port();
        let http = tiny_http::Server::from_listener(self.0, None)
            .map_err(|e| fail(std::io::Error::other(e.to_string())))?;
        let shared = Arc::new(Shared {
            http,
            site,
            port,
            stopped: AtomicBool::new(false),
            sending: AtomicUsize::new(0),
            last_request: Mutex::new(None),
        });
        let mut server = Server { shared, makers: Vec::new() };
        for _ in 0..MAKERS {
            let shared = Arc::clone(&server.shared);
            let maker = std::thread::Builder::new().name("live".to_string());
            server.makers.push(maker.spawn(move || shared.answer_all()).map_err(fail)?);
        }
        Ok(server)
    }
}

impl Server {
    fn last_request(&self) -> Option<Instant> {
        self.shared.last_request.lock().ok().and_then(|last| *last)
    }

    /// Waits until a page that is open somewhere has refreshed once more, within a time limit.
    pub(crate) fn await_last_poll(&self) {
        let now = Instant::now();
        if self.last_request().is_none_or(|at| now.duration_since(at) > RECENT) {
            return;
        }
        let limit = now + Duration::from_secs(u64::from(EVERY) + 1);
        let is_open = || {
            self.last_request().is_none_or(|at| at <= now) || self.shared.sending.load(Ordering::Acquire) > 0
        };
        while Instant::now() < limit && is_open() {
            std::thread::sleep(POLL);
        }
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

struct Answer {
    status: u16,
    kind: &'static str,
    policy: String,
    body: Vec<u8>,
}

impl Answer {
    fn text(status: u16, text: &str) -> Self {
        Self { status, kind: TEXT, policy: NO_SOURCES.to_string(), body: text.into() }
    }

    fn html(status: u16, policy: &str, body: Vec<u8>) -> Self {
        Self { status, kind: HTML, policy: policy.to_string(), body }
    }

    fn response(self) -> Response<std::io::Cursor<Vec<u8>>> {
        let headers = [
            ("content-type", self.kind),
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("content-security-policy", &self.policy),
        ];
        let headers = headers.iter().filter_map(|(name, value)| Header::from_bytes(*name, *value).ok());
        let length = self.body.len();
        let body = std::io::Cursor::new(self.body);
        // Pages are sent with their length, never in chunks.
        Response::new(self.status.into(), headers.collect(), body, Some(length), None)
            .with_chunked_threshold(usize::MAX)
    }
}

impl Shared {
    fn answer_all(self: Arc<Self>) {
        while !self.stopped.load(Ordering::Acquire) {
            // Fails when it is unblocked at the end.
            let Ok(request) = self.http.recv() else { continue };
            let answer = self.answer(&request);
            self.sending.fetch_add(1, Ordering::AcqRel);
            let shared = Arc::clone(&self);
            // A client that reads slowly, or never ends its request, keeps no other waiting.
            let sender = std::thread::Builder::new().name("live page".to_string()).spawn(move || {
                let is_page = answer.status == 200;
                let _ = request.respond(answer.response());
                if is_page && let Ok(mut last) = shared.last_request.lock() {
                    *last = Some(Instant::now());
                }
                shared.sending.fetch_sub(1, Ordering::AcqRel);
            });
            if sender.is_err() {
                self.sending.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    fn answer(&self, request: &Request) -> Answer {
        if !self.is_for_us(request) {
            return Answer::text(421, "This page is for 127.0.0.1 only.");
        }
        match request.method() {
            Method::Get | Method::Head => self.page(request.url()),
            _ => Answer::text(405, "This page is read-only."),
        }
    }

    fn is_for_us(&self, request: &Request) -> bool {
        let hosts: Vec<&str> = request
            .headers()
            .iter()
            .filter(|header| header.field.equiv("Host"))
            .map(|header| header.value.as_str())
            .collect();
        let own = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", self.port));
        let [host] = hosts[..] else { return false };
        own.iter().any(|own| host.eq_ignore_ascii_case(own))
            && ["/", "*"].contains(&request.url().get(..1).unwrap_or_default())
    }

    fn page(&self, path: &str) -> Answer {
        let live = Live { nonce: format!("{:016x}", RandomState::new().hash_one(path)), every: EVERY };
        let policy = live.policy();
        match catch_unwind(AssertUnwindSafe(|| (self.site)(path, &live))) {
            Ok(Ok(Content::Page(page))) => Answer::html(200, &policy, page.into()),
            Ok(Ok(Content::Plain(page))) => Answer::html(200, Live::PLAIN, page),
            Ok(Ok(Content::Missing)) => Answer::text(404, "There is no such page."),
            // The page refreshes itself.
            Ok(Err(error)) => {
                let page = notice("There is nothing to show yet", &error.to_string(), Some(&live));
                Answer::html(503, &policy, page.into())
            }
            Err(_) => Answer::text(500, "The page cannot be made."),
        }
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
            "/broken" => panic!("broken"),
            _ => Content::Missing,
        })
    }

    #[test]
    fn only_the_page_is_served_and_only_under_its_own_name() {
        let bound = Bound::new(0).unwrap();
        assert!(bound.address().unwrap().starts_with("http://127.0.0.1:"));
        let server = bound.serve(Box::new(site)).unwrap();
        let port = server.shared.port;
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
                std::thread::sleep(POLL);
                false
            }),
            "the server is there"
        );
    }

    #[test]
    fn silent_clients_and_broken_pages_harm_no_other() {
        let server = Bound::new(0).unwrap().serve(Box::new(site)).unwrap();
        let port = server.shared.port;
        let _silent: Vec<TcpStream> =
            (0..100).map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap()).collect();
        let own = format!("127.0.0.1:{port}");
        for _ in 0..2 * MAKERS {
            assert!(get(port, "GET /broken", &own).starts_with("HTTP/1.1 500 "));
        }
        assert!(get(port, "GET /", &own).starts_with("HTTP/1.1 200 "));
    }

    #[test]
    fn a_taken_port_is_an_error() {
        let first = Bound::new(0).unwrap();
        let port = first.0.local_addr().unwrap().port();
        let Err(error) = Bound::new(port) else { panic!("taken twice") };
        assert!(error.exit_code() == 1 && error.to_string().contains("cannot listen on"), "{error}");
    }
}
