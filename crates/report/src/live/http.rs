//! Pages served to this machine alone, over HTTP.
//!
//! Listens on 127.0.0.1 and answers `GET` and `HEAD` with the page that a function makes for a path at that moment.
//! Other methods and host names (a foreign page could resolve its own to this server, "DNS rebinding") are rejected.
//! Requests have no side effects. Each client has its own thread, sends one request, and must finish in time.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::{Live, notice};
use gputexel_io::{Error, Result};

/// Maximum size of the head of a request, bytes.
const HEAD: usize = 16 << 10;
/// Maximum number of headers of a request.
const HEADERS: usize = 64;
/// Time that a client has to send its request, and again to receive the response.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum number of clients, low enough that a run can open its files; of more, the oldest is disconnected.
const VISITORS: usize = 16;
/// Maximum number of pages made at the same time.
const MAKERS: usize = 2;
/// Time between two polls for a client or for the end.
const TURN: Duration = Duration::from_millis(20);
/// Time that clients have to finish at the end.
const FAREWELL: Duration = Duration::from_secs(1);
/// Seconds between refreshes of the page.
const EVERY: u32 = 3;
/// A page that has been requested within this time is still open somewhere.
const RECENT: Duration = Duration::from_secs(3 * EVERY as u64);

const HTML: &str = "text/html; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";
/// Content security policy of texts.
const NO_SOURCES: &str = "default-src 'none'";

/// Content of a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    /// A page with a script that uses the given nonce.
    Page(String),
    /// A page without a script.
    Plain(Vec<u8>),
    /// Not found.
    Missing,
}

/// Makes the content of a path, given as requested, with the query.
pub(crate) type Site = Box<dyn Fn(&str, &Live) -> Result<Found> + Send + Sync>;

struct Shared {
    site: Site,
    port: u16,
    stopped: AtomicBool,
    visitors: AtomicUsize,
    /// Number of pages being made.
    making: Mutex<usize>,
    made: Condvar,
    /// Time of the last request for a page.
    looked: Mutex<Option<Instant>>,
}

/// A running server; it ends when this is dropped.
pub(crate) struct Server {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// A bound address that is not served yet.
pub(crate) struct Bound(TcpListener);

fn fail(error: std::io::Error) -> Error {
    Error::io("live report", error)
}

impl Bound {
    /// Binds a port of 127.0.0.1; 0 for any free one.
    ///
    /// # Errors
    /// [`Error::Input`] if it is not available.
    pub(crate) fn take(port: u16) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        TcpListener::bind(address)
            .map(Self)
            .map_err(|e| Error::input("live report", format!("cannot listen on {address}: {e}")))
    }

    /// Returns the address for a browser.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn address(&self) -> Result<String> {
        Ok(format!("http://{}/", self.0.local_addr().map_err(fail)?))
    }

    /// Starts the server.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn serve(self, site: Site) -> Result<Server> {
        let port = self.0.local_addr().map_err(fail)?.port();
        self.0.set_nonblocking(true).map_err(fail)?;
        let shared = Arc::new(Shared::new(site, port));
        let all = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("live".to_string())
            .spawn(move || all.listen(&self.0))
            .map_err(fail)?;
        Ok(Server { shared, thread: Some(thread) })
    }
}

impl Server {
    fn last_look(&self) -> Option<Instant> {
        self.shared.looked.lock().ok().and_then(|looked| *looked)
    }

    /// Waits until a page that is open somewhere has refreshed once more, within a time limit.
    pub(crate) fn await_last_poll(&self) {
        let now = Instant::now();
        if self.last_look().is_none_or(|at| now.duration_since(at) > RECENT) {
            return;
        }
        let limit = now + Duration::from_secs(u64::from(EVERY) + 1);
        while Instant::now() < limit && self.last_look().is_none_or(|at| at <= now) {
            std::thread::sleep(TURN);
        }
        // The response is being sent.
        while Instant::now() < limit && self.shared.visitors.load(Ordering::Acquire) > 0 {
            std::thread::sleep(TURN);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Returns the response of a server on that port to a client that sends exactly these bytes; empty if there is none.
pub(crate) fn answer_to(mut bytes: &[u8], port: u16, site: Site) -> Vec<u8> {
    let answer = Shared::new(site, port).respond(&mut bytes, &AtomicBool::new(false));
    answer.map(|answer| answer.bytes).unwrap_or_default()
}

/// A connection with a deadline for all operations.
struct Timed<'a> {
    stream: &'a TcpStream,
    limit: Instant,
}

impl Timed<'_> {
    fn left(&self) -> std::io::Result<Option<Duration>> {
        let left = self.limit.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(into)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

/// A connection that can be closed from another thread.
struct Visitor {
    stream: TcpStream,
    gone: AtomicBool,
}

impl Visitor {
    fn send_away(&self) {
        self.gone.store(true, Ordering::Release);
        // Unblocks threads that wait for it.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// Counts a client as long as it is connected.
struct Visit {
    shared: Arc<Shared>,
    visitor: Arc<Visitor>,
}

impl Visit {
    fn begin(shared: &Arc<Shared>, visitor: Arc<Visitor>) -> Self {
        shared.visitors.fetch_add(1, Ordering::AcqRel);
        Self { shared: Arc::clone(shared), visitor }
    }

    /// Reads one request and answers it. A client that disconnects or is too slow is not an error.
    fn hold(&self) {
        // On some systems, a connection inherits the mode of its listener.
        if self.visitor.stream.set_nonblocking(false).is_err() {
            return;
        }
        let mut stream = Timed { stream: &self.visitor.stream, limit: Instant::now() + PATIENCE };
        let Some(answer) = self.shared.respond(&mut stream, &self.visitor.gone) else { return };
        stream.limit = Instant::now() + PATIENCE;
        let _ = stream.write_all(&answer.bytes);
        let _ = self.visitor.stream.shutdown(Shutdown::Write);
        if answer.is_page
            && let Ok(mut looked) = self.shared.looked.lock()
        {
            *looked = Some(Instant::now());
        }
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.shared.visitors.fetch_sub(1, Ordering::AcqRel);
    }
}

/// One of the slots for making pages.
struct Place<'a>(&'a Shared);

impl<'a> Place<'a> {
    fn take(shared: &'a Shared) -> Self {
        let mut making = shared.making.lock().unwrap_or_else(PoisonError::into_inner);
        while *making >= MAKERS {
            making = shared.made.wait(making).unwrap_or_else(PoisonError::into_inner);
        }
        *making += 1;
        Self(shared)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.making.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.0.made.notify_one();
    }
}

/// Status and text of a response other than a page.
type Refusal = (&'static str, &'static str);

const BAD: Refusal = ("400 Bad Request", "This is not an HTTP/1.1 request.");
const LARGE: Refusal = ("431 Request Header Fields Too Large", "This request is too large.");
const FOREIGN: Refusal = ("421 Misdirected Request", "This page is for 127.0.0.1 only.");
const READ_ONLY: Refusal = ("405 Method Not Allowed", "This page is read-only.");
const NOT_FOUND: Refusal = ("404 Not Found", "There is no such page.");
const FAILED: Refusal = ("500 Internal Server Error", "The page cannot be made.");

/// Reads the head of a request, up to its empty line; `None` if it does not arrive.
fn hear(from: &mut impl Read) -> Option<std::result::Result<Vec<u8>, Refusal>> {
    let mut head = Vec::new();
    let mut part = [0; 4096];
    while head.len() <= HEAD {
        let count = match from.read(&mut part) {
            Ok(0) => return None,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        // The end may be split between two reads.
        let begin = head.len().saturating_sub(3);
        head.extend_from_slice(&part[..count]);
        if let Some(at) = head[begin..].windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            head.truncate(begin + at);
            return Some(if head.len() > HEAD { Err(LARGE) } else { Ok(head) });
        }
    }
    Some(Err(LARGE))
}

/// Parts of a request that determine the response.
struct Request<'a> {
    method: &'a str,
    /// Host in the request line.
    authority: Option<&'a str>,
    /// Path with the query.
    path: &'a str,
    /// Values of all headers `Host`.
    hosts: Vec<&'a [u8]>,
}

/// Returns true for a valid method or header name.
fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte))
}

impl<'a> Request<'a> {
    fn parse(head: &'a [u8]) -> std::result::Result<Self, Refusal> {
        let mut lines =
            head.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        let first = std::str::from_utf8(lines.next().unwrap_or_default()).map_err(|_| BAD)?;
        let mut words = first.split(' ');
        let (Some(method), Some(target), Some("HTTP/1.1" | "HTTP/1.0"), None) =
            (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(BAD);
        };
        if !is_token(method.as_bytes()) || !target.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(BAD);
        }
        let mut hosts = Vec::new();
        for (count, line) in lines.enumerate() {
            if count >= HEADERS {
                return Err(LARGE);
            }
            let colon = line.iter().position(|&byte| byte == b':').ok_or(BAD)?;
            let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
            if !is_token(name) || value.iter().any(|&byte| byte.is_ascii_control() && byte != b'\t') {
                return Err(BAD);
            }
            if name.eq_ignore_ascii_case(b"host") {
                hosts.push(value);
            }
        }
        let (authority, path) = match target.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("http://"))
        {
            Some(_) => {
                let rest = &target[7..];
                let (name, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
                (Some(name), if path.starts_with('/') { path } else { "/" })
            }
            None if method == "CONNECT" => (Some(target), "/"),
            None if target.starts_with('/') || target == "*" => (None, target),
            None => return Err(BAD),
        };
        let path = path.split('#').next().unwrap_or_default();
        Ok(Self { method, authority, path, hosts })
    }
}

/// A response.
struct Answer {
    bytes: Vec<u8>,
    /// True for a page shown in a browser.
    is_page: bool,
}

impl Answer {
    fn new(status: &str, kind: &str, policy: &str, body: &[u8]) -> Self {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\n\
             content-type: {kind}\r\n\
             cache-control: no-store\r\n\
             x-content-type-options: nosniff\r\n\
             x-frame-options: DENY\r\n\
             referrer-policy: no-referrer\r\n\
             cross-origin-resource-policy: same-origin\r\n\
             content-security-policy: {policy}\r\n\
             connection: close\r\n\
             content-length: {length}\r\n\r\n"
        );
        Self { bytes: [head.as_bytes(), body].concat(), is_page: false }
    }

    fn refusal((status, why): Refusal) -> Self {
        Self::new(status, TEXT, NO_SOURCES, why.as_bytes())
    }
}

impl Shared {
    fn new(site: Site, port: u16) -> Self {
        Self {
            site,
            port,
            stopped: AtomicBool::new(false),
            visitors: AtomicUsize::new(0),
            making: Mutex::new(0),
            made: Condvar::new(),
            looked: Mutex::new(None),
        }
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    fn listen(self: Arc<Self>, listener: &TcpListener) {
        // Their connections are closed with their visits.
        let mut order: VecDeque<Weak<Visitor>> = VecDeque::new();
        while !self.is_stopped() {
            let Ok((stream, _)) = listener.accept() else {
                std::thread::sleep(TURN);
                continue;
            };
            order.retain(|visitor| visitor.strong_count() > 0);
            if order.len() >= VISITORS
                && let Some(oldest) = order.pop_front().and_then(|visitor| visitor.upgrade())
            {
                oldest.send_away();
            }
            // A disconnected client may not have noticed yet.
            while self.visitors.load(Ordering::Acquire) >= 2 * VISITORS && !self.is_stopped() {
                std::thread::sleep(Duration::from_millis(1));
            }
            let visitor = Arc::new(Visitor { stream, gone: AtomicBool::new(false) });
            let known = Arc::downgrade(&visitor);
            let visit = Visit::begin(&self, visitor);
            let begun = std::thread::Builder::new().name("live page".to_string()).spawn(move || visit.hold());
            if begun.is_ok() {
                order.push_back(known);
            }
        }
        order.iter().filter_map(Weak::upgrade).for_each(|visitor| visitor.send_away());
        // Nobody waits any more for a page that is being made.
        let limit = Instant::now() + FAREWELL;
        while self.visitors.load(Ordering::Acquire) > 0 && Instant::now() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Reads a request and makes the response, which is discarded once the client is `gone`.
    fn respond(&self, from: &mut impl Read, gone: &AtomicBool) -> Option<Answer> {
        let head = match hear(from)? {
            Ok(head) => head,
            Err(refusal) => return Some(Answer::refusal(refusal)),
        };
        let request = match Request::parse(&head).and_then(|request| self.check(request)) {
            Ok(request) => request,
            Err(refusal) => return Some(Answer::refusal(refusal)),
        };
        let place = Place::take(self);
        if gone.load(Ordering::Acquire) || self.is_stopped() {
            return None;
        }
        let mut answer = self.answer(request.path);
        drop(place);
        if request.method == "HEAD" {
            let end = answer.bytes.windows(4).position(|bytes| bytes == b"\r\n\r\n");
            answer.bytes.truncate(end.map_or(0, |at| at + 4));
        }
        Some(answer)
    }

    /// Rejects requests for other hosts and those that do more than read.
    fn check<'a>(&self, request: Request<'a>) -> std::result::Result<Request<'a>, Refusal> {
        let ours = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let is_ours = |name: &[u8]| ours.iter().any(|own| name.eq_ignore_ascii_case(own.as_bytes()));
        let authority = request.authority.is_none_or(|name| is_ours(name.as_bytes()));
        match request.hosts[..] {
            [host] if is_ours(host) && authority => {}
            _ => return Err(FOREIGN),
        }
        if ["GET", "HEAD"].contains(&request.method) { Ok(request) } else { Err(READ_ONLY) }
    }

    /// Returns the response to a request for a path.
    fn answer(&self, path: &str) -> Answer {
        let live = Live { nonce: format!("{:016x}", RandomState::new().hash_one(path)), every: EVERY };
        let policy = live.policy();
        match catch_unwind(AssertUnwindSafe(|| (self.site)(path, &live))) {
            Ok(Ok(Found::Page(page))) => {
                Answer { is_page: true, ..Answer::new("200 OK", HTML, &policy, page.as_bytes()) }
            }
            Ok(Ok(Found::Plain(page))) => {
                Answer { is_page: true, ..Answer::new("200 OK", HTML, Live::PLAIN, &page) }
            }
            Ok(Ok(Found::Missing)) => Answer::refusal(NOT_FOUND),
            // The page refreshes itself.
            Ok(Err(error)) => {
                let page = notice("There is nothing to show yet", &error.to_string(), Some(&live));
                Answer::new("503 Service Unavailable", HTML, &policy, page.as_bytes())
            }
            Err(_) => Answer::refusal(FAILED),
        }
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

    fn site(path: &str, live: &Live) -> Result<Found> {
        Ok(match path.split('?').next().unwrap_or_default() {
            "/" => Found::Page(format!("<p>{}", live.nonce)),
            "/file" => Found::Plain(b"<p>file".to_vec()),
            _ => Found::Missing,
        })
    }

    #[test]
    fn only_the_page_is_served_and_only_under_its_own_name() {
        let bound = Bound::take(0).unwrap();
        assert!(bound.address().unwrap().starts_with("http://127.0.0.1:"));
        let server = bound.serve(Box::new(site)).unwrap();
        let port = server.shared.port;
        let get = |line: &str, host: &str| ask(port, &format!("{line} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        let own = format!("127.0.0.1:{port}");
        let page = get("GET /", &own);
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("connect-src 'self'"), "{page}");
        for line in ["x-frame-options: DENY", "cache-control: no-store", "connection: close"] {
            assert!(page.contains(line), "{line}: {page}");
        }
        let plain = get("GET /file", &own);
        assert!(plain.ends_with("<p>file") && !plain.contains("script-src"), "{plain}");
        let nonce = page.rsplit("<p>").next().unwrap();
        assert!(nonce.len() == 16 && page.contains(&format!("'nonce-{nonce}'")), "{page}");
        assert_ne!(page, get("GET /", &own), "the word is made up anew");
        assert!(get("GET /?x=1", &format!("LOCALHOST:{port}")).starts_with("HTTP/1.1 200"));
        let head = get("HEAD /", &own);
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
            ("GET  /", own.clone(), "400"),
            ("GET /\u{e4}", own.clone(), "400"),
            ("GET /", format!("{own}\r\n folded: x"), "400"),
            ("GET /", format!("{own}\r\nno header"), "400"),
            ("GET /", format!("{own}{}", "\r\nx: y".repeat(HEADERS)), "431"),
        ] {
            let answer = get(line, &host);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line} {host}: {answer}");
            assert!(!answer.contains("<p>"));
        }
        assert!(ask(port, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 421"), "no host at all");
        let long = format!("GET / HTTP/1.1\r\nHost: {own}\r\nX: {}\r\n\r\n", "x".repeat(2 * HEAD));
        // The response may be lost if the rest of the request is still being sent.
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let _ = stream.write_all(long.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"));
        drop(server);
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err(), "the server is gone");
    }

    #[test]
    fn a_visitor_that_says_nothing_does_not_keep_others_waiting() {
        let server =
            Bound::take(0).unwrap().serve(Box::new(|_, _| Err(Error::Usage("not <yet>".into())))).unwrap();
        let port = server.shared.port;
        let _silent: Vec<TcpStream> =
            (0..400).map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap()).collect();
        let answer = ask(port, &format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("not &lt;yet&gt;"), "{answer}");
    }

    #[test]
    fn a_visitor_that_never_ends_its_request_is_given_up_in_time() {
        let server = Bound::take(0).unwrap().serve(Box::new(site)).unwrap();
        let port = server.shared.port;
        let mut slow = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let begun = Instant::now();
        // Each byte in time, but never the whole request.
        while slow.write_all(b"x").is_ok() {
            assert!(begun.elapsed() < 3 * PATIENCE, "it is still heard");
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(begun.elapsed() >= PATIENCE - TURN);
    }

    #[test]
    fn a_page_that_cannot_be_made_harms_no_other() {
        let broken =
            |path: &str, live: &Live| if path == "/broken" { panic!("broken") } else { site(path, live) };
        let server = Bound::take(0).unwrap().serve(Box::new(broken)).unwrap();
        let port = server.shared.port;
        let get = |path: &str| ask(port, &format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"));
        for _ in 0..2 * MAKERS {
            assert!(get("/broken").starts_with("HTTP/1.1 500 "));
        }
        assert!(get("/").starts_with("HTTP/1.1 200 "));
    }

    #[test]
    fn a_port_that_is_taken_is_told() {
        let first = Bound::take(0).unwrap();
        let port = first.0.local_addr().unwrap().port();
        let Err(error) = Bound::take(port) else { panic!("taken twice") };
        assert!(error.exit_code() == 1 && error.to_string().contains("cannot listen on"), "{error}");
    }
}
