//! The other ranks: keep layouts and compute sums until rank 0 ends them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::Link;
use crate::message::{Order, Reply};
use gputexel_dataset::Layout;
use gputexel_eval::divided::Task;
use gputexel_eval::{Backend, Evaluator};
use gputexel_io::{Error, Result};

struct Share {
    tasks: Option<Sender<Task>>,
    replies: Receiver<Reply>,
    thread: Option<JoinHandle<()>>,
}

impl Share {
    fn open(layout: Vec<u8>, backend: Arc<Backend>) -> Self {
        let (tasks, received) = channel::<Task>();
        let (reply, replies) = channel();
        let thread = std::thread::spawn(move || {
            let fail = |error: Error| {
                // The receiver is gone only when everything is done.
                let _ = reply.send(Reply::Failed(error.to_string()));
            };
            let layout = match Layout::from_bytes(&layout) {
                Ok(layout) => layout,
                Err(error) => return fail(error),
            };
            let mut evaluator = match backend.of_sections(&layout) {
                Ok(evaluator) => evaluator,
                Err(error) => return fail(error),
            };
            let _ = reply.send(Reply::Opened(evaluator.describe()));
            for task in received {
                let valid = task.0.validate(&layout).and_then(|()| task.1.validate(&layout));
                let sent = match valid.and_then(|()| evaluator.nodes(&task)) {
                    Ok(answer) => reply.send(Reply::Sums(answer)),
                    Err(error) => reply.send(Reply::Failed(error.to_string())),
                };
                if sent.is_err() {
                    return;
                }
            }
        });
        Self { tasks: Some(tasks), replies, thread: Some(thread) }
    }

    fn reply(&self) -> Reply {
        self.replies.recv().unwrap_or_else(|_| Reply::Failed("its thread has ended".to_string()))
    }

    fn work(&self, task: Task) -> Reply {
        // If nobody takes the task, there is no reply either.
        let _ = self.tasks.as_ref().map(|tasks| tasks.send(task));
        self.reply()
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.tasks = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has reported it.
            let _ = thread.join();
        }
    }
}

/// Serves rank 0 until it ends the ranks. If the backend cannot be opened, rank 0 gets the error with its first
/// request.
pub fn serve(link: &mut dyn Link, backend: Result<Backend>) -> Result<()> {
    let backend = backend.map(Arc::new);
    let mut shares: HashMap<u64, Share> = HashMap::new();
    let missing = |id: u64| Reply::Failed(format!("it has no layout {id}"));
    loop {
        let reply = match Order::read(&link.receive(0)?)? {
            Order::End => return Ok(()),
            Order::Close { id } => {
                shares.remove(&id);
                continue;
            }
            Order::Open { id, layout } => match &backend {
                Err(error) => Reply::Failed(error.to_string()),
                Ok(backend) => {
                    let share = Share::open(layout, Arc::clone(backend));
                    let reply = share.reply();
                    if matches!(reply, Reply::Opened(_)) {
                        shares.insert(id, share);
                    }
                    reply
                }
            },
            Order::Sums { id, population, request } => match shares.get(&id) {
                Some(share) => share.work(Arc::new((population, request))),
                None => missing(id),
            },
        };
        link.send(0, &reply.write())?;
    }
}
