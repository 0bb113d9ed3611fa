//! Keys of a table, each described once. From the descriptions come the struct that holds the table as written, its
//! reader, the findings about unknown and missing keys, the tables of the reference and the JSON Schema.

use std::ops::Deref;

use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Diagnostic, Findings, Span, code};
use crate::document::entry::{Entry, entries, put};
use crate::document::{Spanned, Text};

/// One key of a table.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub name: &'static str,
    pub shape: Shape,
    /// The value as an error describes it, with an example; empty if the words of its shape say it.
    pub wanted: &'static str,
    /// Remedy for a value that is out of range.
    pub help: &'static str,
    /// The line to add where the key is missing; empty if it may be.
    pub required: &'static str,
    /// Names of the same setting in other tools.
    pub aliases: &'static [&'static str],
    /// The reference: meaning, default, and interface of the kernel or option of a program. Markdown.
    pub about: &'static str,
    pub default: &'static str,
    pub kernel: &'static str,
}

impl Key {
    /// A key whose value an error calls `wanted`.
    pub const fn new(wanted: &'static str) -> Self {
        Self {
            name: "",
            shape: Shape::Any,
            wanted,
            help: "",
            required: "",
            aliases: &[],
            about: "",
            default: "",
            kernel: "",
        }
    }

    /// A key with one of a few words as its value.
    pub const fn words(words: &'static [&'static str]) -> Self {
        Self::new("").shape(Shape::Words(words))
    }

    pub const fn shape(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }

    pub const fn help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }

    /// A number within these bounds.
    pub const fn range(self, least: i64, most: i64) -> Self {
        self.shape(Shape::Integer(least, most))
    }

    /// The key has to be there; `line` is what to add.
    pub const fn required(self, line: &'static str) -> Self {
        Self { required: line, default: "required", ..self }
    }

    pub const fn aliases(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    pub const fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    pub const fn default(self, default: &'static str) -> Self {
        Self { default, ..self }
    }

    pub const fn kernel(self, kernel: &'static str) -> Self {
        Self { kernel, ..self }
    }

    /// The key under its name, with the shape of the field's type if it has no narrower one.
    pub const fn of_field(self, name: &'static str, shape: Shape) -> Self {
        let shape = if matches!(self.shape, Shape::Any) { shape } else { self.shape };
        Self { name, shape, ..self }
    }

    /// The value as an error describes it.
    pub fn wanted(&self) -> String {
        match self.shape {
            Shape::Words([only]) if self.wanted.is_empty() => format!("\"{only}\""),
            Shape::Words([first @ .., last]) if self.wanted.is_empty() => {
                let first: Vec<_> = first.iter().map(|word| format!("\"{word}\"")).collect();
                format!("{} or \"{last}\"", first.join(", "))
            }
            _ => self.wanted.to_owned(),
        }
    }
}

/// The type of a value, for a JSON Schema.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    Any,
    AnyOf(&'static [Self]),
    Boolean,
    Integer(i64, i64),
    List(&'static Self),
    /// A table whose keys are names given by the user, which the reference calls by this word.
    Named(&'static str, &'static Self),
    OneOrList(&'static Self),
    Table(&'static KeyTable),
    Text,
    /// Text of at most this many characters.
    TextUpTo(usize),
    Words(&'static [&'static str]),
}

impl Shape {
    /// The bounds of a number, or of the numbers of a list.
    const fn bounds(&self) -> (i64, i64) {
        match self {
            Self::Integer(least, most) => (*least, *most),
            Self::List(item) | Self::OneOrList(item) => item.bounds(),
            _ => (i64::MIN, i64::MAX),
        }
    }
}

/// The keys of a table.
#[derive(Debug)]
pub struct KeyTable {
    pub name: &'static str,
    pub parts: &'static [Part],
    required: usize,
}

/// A key, or the keys of another table with a sentence of the reference about all of them.
#[derive(Debug)]
pub enum Part {
    Key(Key),
    Flat(&'static KeyTable, &'static str),
}

impl KeyTable {
    pub const fn new(name: &'static str, parts: &'static [Part]) -> Self {
        let (mut required, mut at) = (0, 0);
        while at < parts.len() {
            required += match &parts[at] {
                Part::Key(key) => !key.required.is_empty() as usize,
                Part::Flat(table, _) => table.required,
            };
            at += 1;
        }
        Self { name, parts, required }
    }

    /// All keys, in the order of their description.
    pub fn keys(&self) -> Vec<&Key> {
        let mut keys = Vec::new();
        for part in self.parts {
            match part {
                Part::Key(key) => keys.push(key),
                Part::Flat(table, _) => keys.extend(table.keys()),
            }
        }
        keys
    }

    pub fn has(&self, name: &str) -> bool {
        self.keys().iter().any(|key| key.name == name)
    }
}

impl Entry<'_> {
    /// Reports a key that does not exist in `place`, and returns the one that was probably intended.
    pub fn unknown(&self, place: &str, keys: &KeyTable, findings: &mut Findings) -> Option<&'static str> {
        let keys = keys.keys();
        let names: Vec<_> = keys.iter().map(|key| key.name).collect();
        let alias = keys.iter().find(|key| key.aliases.contains(&self.key)).map(|key| key.name);
        self.not_one_of(place, &names, alias, findings)
    }
}

/// A table as written, declared by [`keys!`](crate::keys).
pub trait Keyed: Default {
    const KEYS: &'static KeyTable;

    /// Reads an entry as the key `name`. Returns the description of the key, and whether the value has the right type;
    /// `None` if the table has no such key.
    fn put(&mut self, name: &str, entry: &Entry<'_>, findings: &mut Findings) -> Option<(&'static Key, bool)>;
}

/// A value that reads itself.
pub trait Value: Sized {
    const SHAPE: Shape;

    /// Reads the value. `None` if it has the wrong type, which is reported.
    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self>;
}

impl Value for String {
    const SHAPE: Shape = Shape::Text;

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        entry.string(&key.wanted(), findings).map(|text| text.value)
    }
}

/// Any number. Its bounds depend on other keys.
impl Value for i64 {
    const SHAPE: Shape = Shape::Integer(Self::MIN, Self::MAX);

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        entry.integer(key.wanted, findings).map(|number| number.value)
    }
}

impl Value for bool {
    const SHAPE: Shape = Shape::Boolean;

    fn read(entry: &Entry<'_>, _: &Key, findings: &mut Findings) -> Option<Self> {
        entry.boolean(findings).map(|flag| flag.value)
    }
}

/// Numbers within the bounds of their key.
macro_rules! bounded_numbers {
    ($($Number:ty),*) => { $(
        impl Value for $Number {
            const SHAPE: Shape = Shape::Integer(0, i64::MAX);

            fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
                bounded(entry, key, findings)
            }
        }
    )* };
}

bounded_numbers!(u8, u32, u64);

fn bounded<T: TryFrom<i64>>(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<T> {
    let Spanned { value, span } = entry.integer(key.wanted, findings)?;
    let (least, most) = key.shape.bounds();
    let number = if (least..=most).contains(&value) { T::try_from(value).ok() } else { None };
    if number.is_none() {
        let range = if most == i64::MAX { format!("at least {least}") } else { format!("{least} to {most}") };
        findings.error(code::RANGE, &span, format!("`{}` must be {range}, not {value}", key.name), key.help);
    }
    number
}

impl<T: Value> Value for Spanned<T> {
    const SHAPE: Shape = T::SHAPE;

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        T::read(entry, key, findings).map(|value| Self { value, span: entry.span() })
    }
}

impl<T: Value> Value for Box<T> {
    const SHAPE: Shape = T::SHAPE;

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        T::read(entry, key, findings).map(Self::new)
    }
}

/// A field of a table as written.
pub trait Field {
    const SHAPE: Shape;

    /// Reads the value of the field. Returns `false` if it, or a part of it, has the wrong type.
    fn read(&mut self, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool;
}

impl<T: Value> Field for Option<T> {
    const SHAPE: Shape = T::SHAPE;

    fn read(&mut self, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
        put(self, T::read(entry, key, findings))
    }
}

/// A list, of which the values of the right type are kept.
impl<T: Value> Field for Vec<T> {
    const SHAPE: Shape = Shape::List(&T::SHAPE);

    fn read(&mut self, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
        let DeValue::Array(array) = entry.value.get_ref() else {
            return entry.wrong_type::<()>(key.wanted, None, findings).is_some();
        };
        let values = array.iter().map(|item| T::read(&entry.with_value(item), key, findings));
        let before = self.len();
        self.extend(values.flatten());
        self.len() == before + array.len()
    }
}

/// One value or a list of them. `false` if one of them has the wrong type.
pub fn one_or_list<T: Value>(into: &mut Option<Vec<T>>, entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> bool {
    // Every item is read before any of them is missed.
    let all: Vec<_> = entry.items().map(|item| T::read(&item, key, findings)).collect();
    put(into, all.into_iter().collect())
}

/// A table as written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table<T> {
    pub value: T,
    pub span: Span,
    /// Keys with a value of the wrong type.
    pub broken: Vec<&'static str>,
    /// There are errors, in tables within this one too, so keys may be missing.
    pub is_incomplete: bool,
}

impl<T> Deref for Table<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A table with a name given by the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named<T> {
    pub name: Text,
    pub table: Table<T>,
}

impl<T> Deref for Named<T> {
    type Target = Table<T>;

    fn deref(&self) -> &Table<T> {
        &self.table
    }
}

/// A table that findings call by the name of its key.
impl<T: Keyed> Value for Table<T> {
    const SHAPE: Shape = Shape::Table(T::KEYS);

    fn read(entry: &Entry<'_>, key: &Key, findings: &mut Findings) -> Option<Self> {
        let table = entry.table(key.wanted, findings)?;
        let place = format!("`{}`", key.name);
        Some(Self { span: entry.span(), ..read(table, &entry.key_span(), [&place; 2], findings) })
    }
}

/// Reports a key that a table does not have, and returns the one that was probably meant.
pub type Unknown = fn(&Entry<'_>, &str, &KeyTable, &mut Findings) -> Option<&'static str>;

/// Reads the keys of a table at `span`. `places` name it in findings about unknown and about missing keys.
pub fn read<T: Keyed>(table: &DeTable<'_>, span: &Span, places: [&str; 2], findings: &mut Findings) -> Table<T> {
    read_with(table, span, places, |entry, place, keys, findings| entry.unknown(place, keys, findings), findings)
}

/// As [`read`], with findings of its own about unknown keys.
pub fn read_with<T: Keyed>(
    table: &DeTable<'_>,
    span: &Span,
    places: [&str; 2],
    unknown: Unknown,
    findings: &mut Findings,
) -> Table<T> {
    let mut read = Table { value: T::default(), span: span.clone(), broken: Vec::new(), is_incomplete: false };
    let (mut suggested, mut required, errors) = (Vec::new(), 0, findings.errors());
    for entry in entries(table) {
        match read.value.put(entry.key, &entry, findings) {
            Some((key, is_sound)) => {
                required += usize::from(!key.required.is_empty());
                read.broken.extend((!is_sound).then_some(key.name));
            }
            None => {
                suggested.extend(unknown(&entry, places[0], T::KEYS, findings));
                read.is_incomplete = true;
            }
        }
    }
    read.is_incomplete |= !read.broken.is_empty() || findings.errors() > errors;
    if required < T::KEYS.required && !findings.is_incomplete {
        let keys = T::KEYS.keys().into_iter().filter(|key| !key.required.is_empty());
        for key in keys.filter(|key| !table.contains_key(key.name) && !suggested.contains(&key.name)) {
            findings.report(
                Diagnostic::error(code::MISSING_KEY, span.clone(), format!("{} has no `{}`", places[1], key.name))
                    .label(format!("`{}` is missing", key.name))
                    .help(format!("add {}", key.required)),
            );
        }
    }
    read
}

/// Declares structs that hold tables as written, with their keys.
///
/// Fields in the braces belong to the reader of the table. Each of the others is followed by `| reader` if its type does
/// not read itself, and by its [`Key`]. `..field: Type` takes all the keys of another table.
#[macro_export]
macro_rules! keys {
    ($(
        $(#[$meta:meta])*
        $vis:vis struct $Spec:ident { $( $(#[$own_meta:meta])* $own:ident: $Own:ty ),* $(,)? }
        $( $name:literal => $field:ident: $Type:ty $(| $reader:path)? = $key:expr; )*
        $(
            ..$flat:ident: $Flat:ty = $about:expr;
            $( $more_name:literal => $more:ident: $More:ty $(| $more_reader:path)? = $more_key:expr; )*
        )?
    )*) => { $(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        $vis struct $Spec {
            $( $(#[$own_meta])* $vis $own: $Own, )*
            $( $vis $field: $Type, )*
            $( $vis $flat: $Flat, $( $vis $more: $More, )* )?
        }

        impl $crate::document::keys::Keyed for $Spec {
            const KEYS: &'static $crate::document::keys::KeyTable = &$crate::document::keys::KeyTable::new(
                stringify!($Spec),
                &[
                    $( $crate::document::keys::Part::Key($crate::keys!(@key $name, $Type, $key $(, $reader)?)), )*
                    $(
                        $crate::document::keys::Part::Flat(<$Flat as $crate::document::keys::Keyed>::KEYS, $about),
                        $( $crate::document::keys::Part::Key(
                            $crate::keys!(@key $more_name, $More, $more_key $(, $more_reader)?)
                        ), )*
                    )?
                ],
            );

            fn put(
                &mut self,
                name: &str,
                entry: &$crate::document::entry::Entry<'_>,
                findings: &mut $crate::diagnostic::Findings,
            ) -> Option<(&'static $crate::document::keys::Key, bool)> {
                match name {
                    $( $name => {
                        const KEY: &$crate::document::keys::Key = &$crate::keys!(@key $name, $Type, $key $(, $reader)?);
                        Some((KEY, $crate::keys!(@read self.$field, entry, KEY, findings $(, $reader)?)))
                    } )*
                    $( $( $more_name => {
                        const KEY: &$crate::document::keys::Key =
                            &$crate::keys!(@key $more_name, $More, $more_key $(, $more_reader)?);
                        Some((KEY, $crate::keys!(@read self.$more, entry, KEY, findings $(, $more_reader)?)))
                    } )* )?
                    _ => $crate::keys!(@rest name, entry, findings $(, self.$flat)?),
                }
            }
        }
    )* };
    (@key $name:literal, $Type:ty, $key:expr) => {
        $key.of_field($name, <$Type as $crate::document::keys::Field>::SHAPE)
    };
    (@key $name:literal, $Type:ty, $key:expr, $reader:path) => {
        $key.of_field($name, $crate::document::keys::Shape::Any)
    };
    (@read $field:expr, $entry:ident, $key:ident, $findings:ident) => {
        $crate::document::keys::Field::read(&mut $field, $entry, $key, $findings)
    };
    (@read $field:expr, $entry:ident, $key:ident, $findings:ident, $reader:path) => {
        $reader(&mut $field, $entry, $key, $findings)
    };
    (@rest $name:ident, $entry:ident, $findings:ident) => { None };
    (@rest $name:ident, $entry:ident, $findings:ident, $flat:expr) => {
        $crate::document::keys::Keyed::put(&mut $flat, $name, $entry, $findings)
    };
}
