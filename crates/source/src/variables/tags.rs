//! Tags of inserted text, by which it is taken out again.

const OPEN: &str = "/*gputexel<*/";
const CLOSE: &str = "/*gputexel>*/";
const OLD: &str = "/*gputexel=";
const END: &str = "*/";

pub(super) fn is_tagged(text: &str) -> bool {
    text.contains(OPEN) || text.contains(OLD)
}

pub(super) fn inserted(text: &str) -> String {
    format!("{OPEN}{text}{CLOSE}")
}

pub(super) fn replaced(old: &str, new: &str) -> String {
    format!("{}{OLD}{old}{END}", if new.is_empty() { String::new() } else { inserted(new) })
}

pub(super) fn without(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let next = [rest.find(OPEN), rest.find(OLD)].into_iter().flatten().min();
        let Some(at) = next else { return out + rest };
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(inside) = rest.strip_prefix(OPEN) {
            let end = inside.find(CLOSE).map_or(inside.len(), |end| end + CLOSE.len());
            rest = &inside[end..];
        } else {
            let inside = &rest[OLD.len()..];
            let end = inside.find(END).unwrap_or(inside.len());
            out.push_str(&inside[..end]);
            rest = inside.get(end + END.len()..).unwrap_or("");
        }
    }
}
