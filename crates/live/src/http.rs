//! Pages served to this machine alone, over HTTP.
//!
//! Listens on 127.0.0.1 and answers `GET` with what a function makes at that moment of a path. Other methods and
//! names of the host (which a page from elsewhere could point here, "DNS rebinding") are refused. Nothing that is sent
//! to it has any effect. The protocol is that of the crate `hyper`, on one thread besides those that make pages.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use gputexel_files::{Error, Result};
use gputexel_report::{Live, notice};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

/// Longest head of a request, bytes.
const HEAD: usize = 16 << 10;
/// Headers of a request.
const HEADERS: usize = 64;
/// How long a visitor may take to say what it wants, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Visitors at a time, few enough that a run finds its files open; of more, the oldest is sent away.
const VISITORS: usize = 64;
/// Pages that are made at a time.
const MAKERS: usize = 2;
/// Seconds between two looks of the page.
const EVERY: u32 = 3;
/// A page that has looked since is still open somewhere.
const RECENT: Duration = Duration::from_secs(3 * EVERY as u64);

/// What there is at a path.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Found {
    /// A page, which runs the script whose word it was given.
    Page(String),
    /// A page that runs no script.
    Plain(Vec<u8>),
    /// Nothing.
    Missing,
}

/// What is served: makes what there is at a path, which is as it was asked for, without the query.
pub(crate) type Site = Box<dyn Fn(&str, &Live) -> Result<Found> + Send + Sync>;

struct Shared {
    site: Site,
    port: u16,
    visitors: AtomicUsize,
    /// When a page was last asked for.
    looked: Mutex<Option<Instant>>,
}

/// A server at work; it ends when this is dropped.
pub(crate) struct Server {
    shared: Arc<Shared>,
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// An address that is taken, and nobody served yet.
pub(crate) struct Bound(TcpListener);

fn fail(error: std::io::Error) -> Error {
    Error::io("live report", error)
}

impl Bound {
    /// Takes a port of 127.0.0.1; 0 for any that is free.
    ///
    /// # Errors
    /// [`Error::Input`] when it cannot be had.
    pub(crate) fn take(port: u16) -> Result<Self> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        TcpListener::bind(address)
            .map(Self)
            .map_err(|e| Error::input("live report", format!("cannot listen on {address}: {e}")))
    }

    /// The address for a browser.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn address(&self) -> Result<String> {
        Ok(format!("http://{}/", self.0.local_addr().map_err(fail)?))
    }

    /// Begins to serve.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn serve(self, site: Site) -> Result<Server> {
        let port = self.0.local_addr().map_err(fail)?.port();
        self.0.set_nonblocking(true).map_err(fail)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(MAKERS)
            .thread_name("live page")
            .build()
            .map_err(fail)?;
        let listener = {
            let _entered = runtime.enter();
            tokio::net::TcpListener::from_std(self.0).map_err(fail)?
        };
        let shared = Shared::new(site, port);
        let (stop, stopped) = watch::channel(false);
        let all = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("live".to_string())
            .spawn(move || {
                runtime.block_on(all.listen(listener, stopped));
                // A page that is being made is for nobody any more.
                runtime.shutdown_timeout(Duration::from_secs(1));
            })
            .map_err(fail)?;
        Ok(Server { shared, stop, thread: Some(thread) })
    }
}

impl Server {
    fn last_look(&self) -> Option<Instant> {
        self.shared.looked.lock().ok().and_then(|looked| *looked)
    }

    /// Waits until a page that is open somewhere has looked once more, but not longer than it takes.
    pub(crate) fn await_last_poll(&self) {
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
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What a server of that port answers to the bytes of a visitor who says no more after them.
pub(crate) fn answer_to(bytes: &[u8], port: u16, site: Site) -> Result<Vec<u8>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(1)
        .build()
        .map_err(fail)?;
    let said = Said { heard: bytes.to_vec(), at: 0, answer: Arc::default() };
    let answer = Arc::clone(&said.answer);
    runtime.block_on(Shared::new(site, port).visit(said));
    let mut answer = answer.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(std::mem::take(&mut *answer))
}

/// A connection of which everything is known.
struct Said {
    heard: Vec<u8>,
    at: usize,
    answer: Arc<Mutex<Vec<u8>>>,
}

impl hyper::rt::Read for Said {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut into: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        let end = self.heard.len().min(self.at + into.remaining());
        into.put_slice(&self.heard[self.at..end]);
        self.at = end;
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for Said {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<std::io::Result<usize>> {
        self.answer.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Counts a visitor as long as it is there, however it goes.
struct Visit(Arc<Shared>);

impl Visit {
    fn begin(shared: &Arc<Shared>) -> Self {
        shared.visitors.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(shared))
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.0.visitors.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Shared {
    fn new(site: Site, port: u16) -> Arc<Self> {
        Arc::new(Self { site, port, visitors: AtomicUsize::new(0), looked: Mutex::new(None) })
    }

    async fn listen(self: Arc<Self>, listener: tokio::net::TcpListener, mut stopped: watch::Receiver<bool>) {
        let mut visits: JoinSet<()> = JoinSet::new();
        let mut order: VecDeque<AbortHandle> = VecDeque::new();
        loop {
            let accepted = tokio::select! {
                _ = stopped.changed() => return,
                _ = visits.join_next(), if !visits.is_empty() => {
                    order.retain(|visit| !visit.is_finished());
                    continue;
                }
                accepted = listener.accept() => accepted,
            };
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            };
            if order.len() >= VISITORS
                && let Some(oldest) = order.pop_front()
            {
                oldest.abort();
            }
            let all = Arc::clone(&self);
            order.push_back(visits.spawn(all.visit(TokioIo::new(stream))));
        }
    }

    /// Hears one request and answers it. A visitor that goes away or is too slow is no reason for anything.
    async fn visit(self: Arc<Self>, stream: impl hyper::rt::Read + hyper::rt::Write + Unpin) {
        let _visit = Visit::begin(&self);
        let shown = AtomicBool::new(false);
        let answer = service_fn(|request: Request<Incoming>| {
            let (all, shown) = (Arc::clone(&self), &shown);
            async move {
                let (response, is_page) = all.answer(&request).await;
                shown.fetch_or(is_page, Ordering::AcqRel);
                Ok::<_, Infallible>(response)
            }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .max_buf_size(HEAD)
            .max_headers(HEADERS)
            .keep_alive(false)
            .serve_connection(stream, answer);
        // Twice: once to be heard, once to take the answer.
        let _ = tokio::time::timeout(2 * PATIENCE, connection).await;
        if shown.load(Ordering::Acquire)
            && let Ok(mut looked) = self.looked.lock()
        {
            *looked = Some(Instant::now());
        }
    }

    /// Why a request is refused, if it is.
    fn refusal(&self, request: &Request<Incoming>) -> Option<(StatusCode, &'static str)> {
        let ours = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let is_ours = |name: &str| ours.iter().any(|own| name.eq_ignore_ascii_case(own));
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok()).unwrap_or_default();
        let authority = request.uri().authority().is_none_or(|name| is_ours(name.as_str()));
        if hosts.next().is_some() || !is_ours(host) || !authority {
            return Some((StatusCode::MISDIRECTED_REQUEST, "This page is for 127.0.0.1 only."));
        }
        let reads = [Method::GET, Method::HEAD].contains(request.method());
        (!reads).then_some((StatusCode::METHOD_NOT_ALLOWED, "This page is read-only."))
    }

    /// The answer to a request, and whether it is a page.
    async fn answer(self: Arc<Self>, request: &Request<Incoming>) -> (Response<Full<Bytes>>, bool) {
        const PLAIN: &str = "default-src 'none'";
        if let Some((status, why)) = self.refusal(request) {
            return (response(status, "text/plain; charset=utf-8", PLAIN, why.as_bytes().to_vec()), false);
        }
        let live = Live { nonce: format!("{:032x}", rand::random::<u128>()), every: EVERY };
        let policy = live.policy();
        let path = request.uri().path().to_string();
        let made = tokio::task::spawn_blocking(move || {
            let found = (self.site)(&path, &live);
            found.map_err(|error| (error.to_string(), live))
        });
        const HTML: &str = "text/html; charset=utf-8";
        match made.await {
            Ok(Ok(Found::Page(page))) => (response(StatusCode::OK, HTML, &policy, page.into_bytes()), true),
            Ok(Ok(Found::Plain(page))) => (response(StatusCode::OK, HTML, Live::PLAIN, page), true),
            Ok(Ok(Found::Missing)) => {
                let why = b"There is no such page.".to_vec();
                (response(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", PLAIN, why), false)
            }
            // The page looks again by itself.
            Ok(Err((error, live))) => {
                let page = notice("There is nothing to show yet", &error, Some(&live));
                (response(StatusCode::SERVICE_UNAVAILABLE, HTML, &policy, page.into_bytes()), false)
            }
            Err(_) => {
                let why = b"The page cannot be made.".to_vec();
                let status = StatusCode::INTERNAL_SERVER_ERROR;
                (response(status, "text/plain; charset=utf-8", PLAIN, why), false)
            }
        }
    }
}

fn response(status: StatusCode, kind: &'static str, policy: &str, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let always: [(HeaderName, &str); 7] = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    for (name, value) in always {
        // All of them are letters, digits and signs.
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    response
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpStream;

    use super::*;

    fn ask(port: u16, request: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    }

    fn site(path: &str, live: &Live) -> Result<Found> {
        Ok(match path {
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
            ("GET http://evil.example/", own.clone(), "421"),
            ("OPTIONS *", own.clone(), "405"),
            ("CONNECT evil.example:80", own.clone(), "421"),
            ("DELETE /", own.clone(), "405"),
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
    fn a_port_that_is_taken_is_told() {
        let first = Bound::take(0).unwrap();
        let port = first.0.local_addr().unwrap().port();
        let Err(error) = Bound::take(port) else { panic!("taken twice") };
        assert!(error.exit_code() == 1 && error.to_string().contains("cannot listen on"), "{error}");
    }
}
