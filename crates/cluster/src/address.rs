//! Address of the server and credentials. Secrets stay inside: nothing that is displayed contains them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event};
use gputexel_io::{Error, Result, SETTINGS_BYTES, read_whole_text};

use crate::queue::Notify;

/// Time that a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(5);

/// Maximum number of server errors that are shown.
const MAX_ERRORS: usize = 3;

/// The longest pause between two attempts to reconnect to a server.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// A server: `nats://HOST[:PORT]`, or `tls://` for an encrypted connection. A user and a password may stand before the
/// host: `nats://USER:PASSWORD@HOST`.
#[derive(Clone)]
pub struct Address {
    encrypted: bool,
    user: Option<(String, String)>,
    host: String,
}

impl FromStr for Address {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        // The text may contain a password, so it is not quoted.
        let bad =
            |why: &str| Error::Usage(format!("the address of the queue {why}: expected nats://HOST[:PORT]"));
        let (scheme, rest) = text.split_once("://").unwrap_or(("nats", text));
        let encrypted = match scheme {
            "nats" => false,
            "tls" => true,
            _ => return Err(bad("begins with neither nats:// nor tls://")),
        };
        let (user, host) = match rest.rsplit_once('@') {
            None => (None, rest),
            Some((user, host)) => {
                let (user, password) = user
                    .split_once(':')
                    .ok_or_else(|| bad("has a user without a password; tokens are read from files"))?;
                (Some((unescaped(user), unescaped(password))), host)
            }
        };
        let host = host.trim_end_matches('/');
        if host.is_empty() || host.contains(|c: char| c.is_whitespace() || c.is_control() || c == '/') {
            return Err(bad("has no host"));
        }
        if user.as_ref().is_some_and(|(user, _)| user.is_empty()) {
            return Err(bad("has an empty user"));
        }
        Ok(Self { encrypted, user, host: host.to_string() })
    }
}

/// Without user and password.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", if self.encrypted { "tls" } else { "nats" }, self.host)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Decodes `%40` and the like in users and passwords.
fn unescaped(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = (*first == b'%' && tail.len() >= 2)
            .then(|| {
                std::str::from_utf8(&tail[..2]).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok())
            })
            .flatten();
        out.push(code.unwrap_or(*first));
        rest = if code.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Means of access: the address, and files with further credentials.
#[derive(Clone, Debug)]
pub struct Access {
    /// The server.
    pub address: Address,
    /// A file whose only line is a token.
    pub token: Option<PathBuf>,
    /// A `.creds` file, with a JWT and the seed of a key.
    pub credentials: Option<PathBuf>,
    /// Additional certificates, in PEM, of authorities that may have signed the server's certificate, besides those of
    /// the system.
    pub authority: Option<PathBuf>,
}

impl Access {
    /// Uses an address without further files.
    pub fn new(address: Address) -> Self {
        Self { address, token: None, credentials: None, authority: None }
    }

    /// Returns the prefix of the subjects on which a worker gets its work, separate for each user, so that a server can
    /// keep workers from reading each other's.
    pub(crate) fn worker_inbox(&self) -> String {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let user = self.address.user.as_ref().map(|(user, _)| user.as_str());
        format!("_INBOX_WORKER.{}", user.filter(|user| user.chars().all(is_plain)).unwrap_or("any"))
    }

    /// Connects, and reconnects whenever the connection is lost; `notify` is called for both. Replies of the server
    /// arrive on subjects that begin with `inbox`.
    ///
    /// # Errors
    /// [`Error::Usage`] for more than one means of authentication; [`Error::Input`] for invalid files, and for a server
    /// that cannot be reached or refuses.
    pub(crate) async fn connect(&self, name: &str, inbox: &str, notify: Notify) -> Result<Client> {
        let ways = [self.address.user.is_some(), self.token.is_some(), self.credentials.is_some()];
        if ways.iter().filter(|way| **way).count() > 1 {
            let reason = "only one of a user, a token and credentials can be shown to the queue";
            return Err(Error::Usage(reason.to_string()));
        }
        let place = self.address.to_string();
        let shown = place.clone();
        let lost = std::sync::atomic::AtomicBool::new(false);
        let errors = std::sync::atomic::AtomicUsize::new(0);
        let mut options = ConnectOptions::new()
            .name(name)
            .custom_inbox_prefix(inbox)
            .connection_timeout(CONNECT)
            .require_tls(self.address.encrypted)
            .max_reconnects(None)
            .ignore_discovered_servers()
            .reconnect_delay_callback(|attempts| {
                Duration::from_millis(100).saturating_mul(attempts.min(100) as u32).min(MAX_PAUSE)
            })
            .event_callback(move |event| {
                use std::sync::atomic::Ordering::Relaxed;
                match event {
                    Event::Disconnected if !lost.swap(true, Relaxed) => {
                        notify(&format!("{shown}: the connection was lost; waiting for the server"));
                    }
                    // For example missing permissions; once would do, but more may explain more.
                    Event::ServerError(error) if errors.fetch_add(1, Relaxed) < MAX_ERRORS => {
                        notify(&format!("{shown}: {error}"));
                    }
                    Event::Connected if lost.swap(false, Relaxed) => {
                        notify(&format!("{shown}: connected again"))
                    }
                    _ => {}
                }
                std::future::ready(())
            });
        if let Some((user, password)) = &self.address.user {
            options = options.user_and_password(user.clone(), password.clone());
        }
        if let Some(path) = &self.token {
            options = options.token(token(path)?);
        }
        if let Some(path) = &self.credentials {
            let text = read_text(path)?;
            options = options
                .credentials(&text)
                .map_err(|_| Error::input(path, "not a file of NATS credentials, with a JWT and a seed"))?;
        }
        if let Some(path) = &self.authority {
            // Checks here that it is readable, where the message can name it.
            read_text(path)?;
            options = options.add_root_certificates(path.clone());
        }
        options.connect(place.as_str()).await.map_err(|error| {
            let reason = match error.kind() {
                ConnectErrorKind::AuthorizationViolation => {
                    "the server refuses user, password or token".to_string()
                }
                ConnectErrorKind::Authentication => "the server refuses the credentials".to_string(),
                ConnectErrorKind::TimedOut => format!("no answer within {} s", CONNECT.as_secs()),
                _ => error.to_string(),
            };
            Error::input(Path::new(&place), reason)
        })
    }
}

/// Reads a short text file.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    read_whole_text(path, SETTINGS_BYTES).map_err(|e| Error::io(path, e))
}

fn token(path: &Path) -> Result<String> {
    let text = read_text(path)?;
    let token = text.trim();
    if token.is_empty() || token.contains(char::is_whitespace) {
        return Err(Error::input(path, "expected one line with a token"));
    }
    Ok(token.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_and_shown_without_secrets() {
        for (text, shown) in [
            ("nats://host", "nats://host"),
            ("host:4333", "nats://host:4333"),
            ("tls://me:s%40cret@host:1/", "tls://host:1"),
            ("nats://[::1]:4222", "nats://[::1]:4222"),
        ] {
            let address: Address = text.parse().unwrap();
            assert_eq!(address.to_string(), shown);
            assert!(!format!("{address:?}").contains("cret"));
        }
        let address: Address = "nats://me:s%40c:ret%zz@host".parse().unwrap();
        assert_eq!(address.user, Some(("me".to_string(), "s@c:ret%zz".to_string())));
        for text in
            ["", "http://host", "nats://", "nats://token@host", "nats://:p@host", "nats://a b", "nats://h/x"]
        {
            let error = text.parse::<Address>().unwrap_err().to_string();
            assert!(
                error.starts_with("the address of the queue ") && !error.contains("token@"),
                "{text}: {error}"
            );
        }
    }
}
