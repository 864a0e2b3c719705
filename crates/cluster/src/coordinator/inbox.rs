//! Takes answers from the server, and acknowledges each according to its outcome.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::{self, consumer::PullConsumer};
use futures_util::StreamExt as _;

use super::Shared;
use super::pending::{Stored, Verdict};
use crate::queue::{self, RESULTS};
use crate::refused::RefusedResults;
use crate::wire::{Answer, Unusable};

/// Number of answers requested at a time.
const BATCH: usize = 200;

/// Time that the server may hold a request without answers.
const PATIENCE: Duration = Duration::from_secs(20);

/// Pause before the next request to the server.
const PAUSE: Duration = Duration::from_millis(300);

/// Takes answers until the runtime ends.
pub(super) async fn receive(shared: Arc<Shared>, mut consumer: Option<PullConsumer>) {
    loop {
        let asked = match &consumer {
            Some(consumer) => {
                consumer.stream().max_messages_per_batch(BATCH).expires(PATIENCE).messages().await.ok()
            }
            None => None,
        };
        if let Some(mut answers) = asked {
            // It ends when the consumer is gone, for example on a server that has lost everything.
            while let Some(Ok(message)) = answers.next().await {
                handle(&shared, message);
            }
        }
        tokio::time::sleep(PAUSE).await;
        consumer = match shared.context.get_stream(RESULTS).await {
            Ok(results) => queue::answers(&results, &shared.identity.run).await.ok(),
            Err(_) => None,
        };
    }
}

fn handle(shared: &Arc<Shared>, message: jetstream::Message) {
    let (message, acker) = message.split();
    let runtime = tokio::runtime::Handle::current();
    let stored: Stored = Box::new(move || {
        runtime.spawn(async move {
            let _ = acker.ack().await;
        });
    });
    let note = |is_first: bool, text: String| {
        if is_first {
            (shared.notify)(&text);
        }
    };
    match Answer::read(&message.payload, &shared.identity) {
        Err(Unusable::Unreadable) => {
            stored();
            let mut refused = shared.refused();
            refused.unreadable += 1;
            let is_first = refused.unreadable == 1;
            drop(refused);
            note(is_first, "a result that cannot be read was refused".to_string());
        }
        Err(Unusable::Forged(name)) => {
            stored();
            let text = format!("a result from '{name}' was refused: nobody was given that work");
            let is_first = RefusedResults::count(&mut shared.refused().forged, name);
            note(is_first, text);
        }
        Ok(answer) => {
            let worker = answer.worker();
            if let Some(reason) = answer.reason() {
                stored();
                let text = format!("worker '{worker}' declines: {reason}");
                let name = format!("'{worker}': {reason}");
                let is_first = RefusedResults::count(&mut shared.refused().declined, name);
                return note(is_first, text);
            }
            let number = answer.number();
            let verdict = shared.pending().answer(answer, stored);
            match verdict {
                Verdict::Taken => {}
                Verdict::Late(stored) => {
                    stored();
                    shared.refused().late += 1;
                }
                Verdict::Impossible(stored, reason) => {
                    stored();
                    let text = format!("a result of '{worker}' for pair {number} was refused: {reason}");
                    let is_first = RefusedResults::count(&mut shared.refused().impossible, worker);
                    note(is_first, text);
                }
            }
        }
    }
}
