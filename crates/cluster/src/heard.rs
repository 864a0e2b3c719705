//! Parses messages without a server: for fuzzing.

use gputexel_play::Assignment;

use crate::identity::Identity;
use crate::wire::{Answer, Work};

/// Reads a message of a coordinator, as a worker does. Returns true if it is work that can be done.
pub fn work(bytes: &[u8]) -> bool {
    let Ok(work) = Work::read(bytes) else { return false };
    let again = Work::read(&work.to_bytes());
    assert!(
        again.is_ok_and(|again| again.to_bytes() == work.to_bytes()),
        "what is written is read as the same"
    );
    let answer = Answer::refusal(&work, "worker", "no engine").to_bytes();
    assert!(!answer.is_empty() && !work.task.digest().is_empty());
    work.task.job().is_ok()
}

/// Reads a message of a worker, as the coordinator that gave it the assignment does; `bytes` are the message, or the
/// content of one that is valid otherwise. Returns true if it has games that can be replayed.
pub fn answer(bytes: &[u8], assignment: &Assignment) -> bool {
    let identity = Identity::draw(None);
    assert!(Answer::read(bytes, &identity).is_err(), "who was given nothing has nothing to say");
    let Ok(work) = Work::new(&identity, assignment) else { return false };
    let Ok(content) = serde_json::from_slice::<serde_json::Value>(bytes) else { return false };
    let mut message = serde_json::to_value(Answer::refusal(&work, "worker", "")).unwrap_or_default();
    message["content"] = content;
    let Ok(answer) = Answer::read(message.to_string().as_bytes(), &identity) else { return false };
    let _ = (answer.worker(), answer.reason());
    answer.records(assignment).is_ok()
}

/// Returns a message with work, for seeds.
pub fn some_work(assignment: &Assignment) -> Vec<u8> {
    Work::new(&Identity::draw(None), assignment).map(|work| work.to_bytes()).unwrap_or_default()
}
