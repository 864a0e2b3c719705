//! Names of the values of enumerations, on command lines and in files.

use crate::error::Error;

/// Implements the names of an enumeration: `ALL`, `name`, `Display` and `FromStr`, whose errors are
/// [`Error::Usage`], or [`Error::Setting`] for a `setting`.
#[macro_export]
macro_rules! names {
    ($type:ident setting $what:literal: $($value:ident $name:literal),*) => {
        $crate::names!(@ $type $crate::unknown_value, $what: $($value $name),*);
    };
    ($type:ident $what:literal: $($value:ident $name:literal),*) => {
        $crate::names!(@ $type $crate::unknown_name, $what: $($value $name),*);
    };
    (@ $type:ident $error:path, $what:literal: $($value:ident $name:literal),*) => {
        impl $type {
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$value),*];

            /// Returns its name on command lines and in files.
            pub fn name(self) -> &'static str {
                match self { $(Self::$value => $name),* }
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $type {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                let named = Self::ALL.into_iter().find(|value| value.name() == text);
                named.ok_or_else(|| $error($what, text, [$($name),*]))
            }
        }
    };
}

pub fn unknown_value(setting: &'static str, value: &str, names: impl IntoIterator<Item: ToString>) -> Error {
    Error::setting(setting, value, format!("must be {}", any_of(names)))
}

pub fn unknown_name(what: &str, name: &str, names: impl IntoIterator<Item: ToString>) -> Error {
    Error::Usage(format!("{what} '{name}': expected {}", any_of(names)))
}

/// Formats alternatives: `a, b or c`.
pub fn any_of(names: impl IntoIterator<Item: ToString>) -> String {
    let mut names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    let last = names.pop().unwrap_or_default();
    if names.is_empty() { last } else { format!("{} or {last}", names.join(", ")) }
}
