//! A page served to this machine alone.
//!
//! Listens on 127.0.0.1, answers `GET /` with what a function makes at that moment, and nothing
//! else: other paths, methods, and names of the host (which a page from elsewhere could point here,
//! "DNS rebinding") are refused. Nothing that is sent to it has any effect.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gputexel_files::{Error, Result};
use gputexel_report::Live;

/// Longest head of a request.
const HEAD: usize = 16 << 10;
/// Headers of a request.
const HEADERS: usize = 64;
/// How long a visitor may take to say what it wants, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Visitors at a time; browsers open several connections.
const VISITORS: usize = 32;
/// Seconds between two looks of the page.
const EVERY: u32 = 3;
/// A page that has looked since is still open somewhere.
const RECENT: Duration = Duration::from_secs(3 * EVERY as u64);

/// Makes the page, for the script of which a word is needed.
pub type Page = Box<dyn Fn(&Live) -> Result<String> + Send + Sync>;

struct Shared {
    page: Page,
    port: u16,
    /// Made up anew for every answer from this and the number of the answer.
    secret: u64,
    answers: AtomicUsize,
    visitors: AtomicUsize,
    stop: AtomicBool,
    /// When the page was last asked for.
    looked: Mutex<Option<Instant>>,
}

/// A server at work; it ends when this is dropped.
pub struct Server {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// An address that is taken, and nobody served yet.
pub struct Bound(TcpListener);

impl Bound {
    /// Takes a port of 127.0.0.1; 0 for any that is free.
    ///
    /// # Errors
    /// [`Error::Input`] when it cannot be had.
    pub fn take(port: u16) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        TcpListener::bind(address)
            .map(Self)
            .map_err(|e| Error::input("live report", format!("cannot listen on {address}: {e}")))
    }

    /// The address for a browser.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn address(&self) -> Result<String> {
        let address = self.0.local_addr().map_err(|e| Error::io("live report", e))?;
        Ok(format!("http://{address}/"))
    }

    /// Begins to serve.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn serve(self, page: Page) -> Result<Server> {
        let fail = |e| Error::io("live report", e);
        let port = self.0.local_addr().map_err(fail)?.port();
        let shared = Arc::new(Shared {
            page,
            port,
            secret: rand::random(),
            answers: AtomicUsize::new(0),
            visitors: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            looked: Mutex::new(None),
        });
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

    /// Waits until a page that is open somewhere has looked once more, but not longer than it takes.
    pub fn await_last_poll(&self) {
        let now = Instant::now();
        if self.last_look().is_none_or(|at| now.duration_since(at) > RECENT) {
            return;
        }
        let limit = now + Duration::from_secs(u64::from(EVERY) + 1);
        while Instant::now() < limit && self.last_look().is_none_or(|at| at <= now) {
            std::thread::sleep(Duration::from_millis(20));
        }
        // The answer is on its way.
        while Instant::now() < limit && self.shared.visitors.load(Ordering::Acquire) > 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        // Wakes the listener, which then sees that it is over.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.shared.port));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What is answered to a request.
#[derive(Debug, PartialEq)]
enum Verdict {
    Page { head_only: bool },
    Refused { status: &'static str, why: &'static str },
}

/// Judges a request by its head.
fn judge(request: &httparse::Request<'_, '_>, port: u16) -> Verdict {
    let refused = |status, why| Verdict::Refused { status, why };
    let mut hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    let host = hosts.next().and_then(|header| std::str::from_utf8(header.value).ok()).unwrap_or_default();
    let ours = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
    if hosts.next().is_some() || !ours.iter().any(|name| host.eq_ignore_ascii_case(name)) {
        return refused("421 Misdirected Request", "This page is for 127.0.0.1 only.");
    }
    let path = request.path.unwrap_or_default();
    match (request.method.unwrap_or_default(), path.split(['?', '#']).next()) {
        ("GET", Some("/")) => Verdict::Page { head_only: false },
        ("HEAD", Some("/")) => Verdict::Page { head_only: true },
        ("GET" | "HEAD", _) => refused("404 Not Found", "There is only one page here."),
        _ => refused("405 Method Not Allowed", "This page is read-only."),
    }
}

impl Shared {
    fn listen(self: &Arc<Self>, listener: &TcpListener) {
        for stream in listener.incoming() {
            if self.stop.load(Ordering::Acquire) {
                break;
            }
            let Ok(stream) = stream else {
                std::thread::sleep(Duration::from_millis(50));
                continue;
            };
            if self.visitors.fetch_add(1, Ordering::AcqRel) >= VISITORS {
                self.visitors.fetch_sub(1, Ordering::AcqRel);
                continue; // dropped: the page looks again later
            }
            let all = Arc::clone(self);
            let answer = move || {
                // A visitor that goes away or is too slow is no reason for anything.
                let _ = all.answer(stream);
                all.visitors.fetch_sub(1, Ordering::AcqRel);
            };
            if std::thread::Builder::new().name("visitor".to_string()).spawn(answer).is_err() {
                self.visitors.fetch_sub(1, Ordering::AcqRel);
            }
        }
    }

    fn answer(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let limit = Instant::now() + PATIENCE;
        let mut head = Vec::new();
        let verdict = loop {
            let mut part = [0; 2048];
            let read = stream.read(&mut part)?;
            head.extend_from_slice(&part[..read]);
            let mut headers = [httparse::EMPTY_HEADER; HEADERS];
            let mut request = httparse::Request::new(&mut headers);
            match request.parse(&head) {
                Ok(httparse::Status::Complete(_)) => break judge(&request, self.port),
                Ok(_) if read > 0 && head.len() < HEAD && Instant::now() < limit => {}
                _ => {
                    break Verdict::Refused {
                        status: "400 Bad Request",
                        why: "This is not a valid request.",
                    };
                }
            }
        };
        let (status, kind, policy, body) = match &verdict {
            Verdict::Refused { status, why } => {
                (*status, "text/plain; charset=utf-8", "default-src 'none'".to_string(), (*why).to_string())
            }
            Verdict::Page { .. } => {
                let number = self.answers.fetch_add(1, Ordering::AcqRel) as u64;
                let word = xxhash_rust::xxh3::xxh3_128_with_seed(&number.to_le_bytes(), self.secret);
                let live = Live { nonce: format!("{word:032x}"), every: EVERY };
                match (self.page)(&live) {
                    Ok(page) => ("200 OK", "text/html; charset=utf-8", live.policy(), page),
                    Err(error) => (
                        "503 Service Unavailable",
                        "text/plain; charset=utf-8",
                        "default-src 'none'".to_string(),
                        format!("There is nothing to show yet: {error}\nReload the page in a moment.\n"),
                    ),
                }
            }
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nContent-Security-Policy: {policy}\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
             Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        if verdict != (Verdict::Page { head_only: true }) {
            stream.write_all(body.as_bytes())?;
        }
        stream.flush()?;
        if let (Verdict::Page { .. }, Ok(mut looked)) = (&verdict, self.looked.lock()) {
            *looked = Some(Instant::now());
        }
        Ok(())
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

    #[test]
    fn only_the_page_is_served_and_only_under_its_own_name() {
        let bound = Bound::take(0).unwrap();
        assert!(bound.address().unwrap().starts_with("http://127.0.0.1:"));
        let server = bound.serve(Box::new(|live| Ok(format!("<p>{}", live.nonce)))).unwrap();
        let port = server.shared.port;
        let get = |line: &str, host: &str| ask(port, &format!("{line} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        let own = format!("127.0.0.1:{port}");
        let page = get("GET /", &own);
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("connect-src 'self'"), "{page}");
        let nonce = page.rsplit("<p>").next().unwrap();
        assert!(nonce.len() == 32 && page.contains(&format!("'nonce-{nonce}'")), "{page}");
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
            ("POST /", own.clone(), "405"),
            ("nonsense", own.clone(), "400"),
        ] {
            let answer = get(line, &host);
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{line} {host}: {answer}");
            assert!(!answer.contains("<p>"));
        }
        assert!(ask(port, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 421"), "no host at all");
        let long = format!("GET / HTTP/1.1\r\nHost: {own}\r\nX: {}\r\n\r\n", "x".repeat(2 * HEAD));
        // The refusal may be lost where the rest of the request is still under way.
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        let _ = stream.write_all(long.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty() || answer.starts_with(b"HTTP/1.1 400"));
        drop(server);
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err(), "the server is gone");
    }

    #[test]
    fn a_visitor_that_says_nothing_does_not_keep_others_waiting() {
        let server =
            Bound::take(0).unwrap().serve(Box::new(|_| Err(Error::Usage("not yet".into())))).unwrap();
        let port = server.shared.port;
        let _silent: Vec<TcpStream> =
            (0..3).map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap()).collect();
        let answer = ask(port, &format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("not yet"), "{answer}");
    }

    #[test]
    fn a_port_that_is_taken_is_told() {
        let first = Bound::take(0).unwrap();
        let port = first.0.local_addr().unwrap().port();
        let Err(error) = Bound::take(port) else { panic!("taken twice") };
        assert!(error.exit_code() == 1 && error.to_string().contains("cannot listen on"), "{error}");
    }
}
