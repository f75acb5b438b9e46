//! The notation of the files in `tests/corpus`: texts and bytes of any length by a few words, and the files themselves.

use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Place of the item's own id in a text.
const ID: &str = "<id>";
/// Place of the number of a repetition in a text.
const NUMBER: &str = "<n>";

/// Bytes that an item sends, or a text of them.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub enum Piece {
    /// A text; `<id>` in it stands for an id of the item's own.
    Text(String),
    /// Several, one after the other.
    All(Vec<Piece>),
    /// Bytes in hexadecimal digits.
    Hex { hex: String },
    /// The same again and again.
    Repeat { repeat: Box<Piece>, times: usize },
    /// A text for each number from 0, which stands at `<n>`.
    Each {
        each: String,
        count: usize,
        #[serde(default)]
        join: String,
    },
    /// The JSON of a value, in which the forms above stand for texts.
    Json { json: Value },
    /// A text in UTF-16, little-endian, with its mark.
    Utf16 { utf16: String },
}

impl Default for Piece {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Piece {
    /// The bytes, for the item of this id.
    pub fn bytes(&self, id: &str) -> Vec<u8> {
        match self {
            Self::Text(text) => text.replace(ID, id).into_bytes(),
            Self::All(pieces) => pieces.iter().flat_map(|piece| piece.bytes(id)).collect(),
            Self::Hex { hex } => from_hex(hex),
            Self::Repeat { repeat, times } => repeat.bytes(id).repeat(*times),
            Self::Each { each, count, join } => {
                let one = |n: usize| each.replace(ID, id).replace(NUMBER, &n.to_string());
                (0..*count).map(one).collect::<Vec<_>>().join(join).into_bytes()
            }
            Self::Json { json } => whole(json, id).to_string().into_bytes(),
            Self::Utf16 { utf16 } => {
                [0xfeff].into_iter().chain(utf16.encode_utf16()).flat_map(u16::to_le_bytes).collect()
            }
        }
    }

    /// The text, for the item of this id.
    pub fn text(&self, id: &str) -> String {
        String::from_utf8(self.bytes(id)).expect("a text of the corpus")
    }
}

fn from_hex(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// A value with texts in place of the notation for them.
pub fn whole(value: &Value, id: &str) -> Value {
    match value {
        Value::Object(map) => {
            let notation = ["repeat", "each"].iter().any(|word| map.contains_key(*word));
            match serde_json::from_value::<Piece>(value.clone()) {
                Ok(piece) if notation => piece.text(id).into(),
                _ => map.iter().map(|(key, value)| (key.replace(ID, id), whole(value, id))).collect(),
            }
        }
        Value::Array(list) => list.iter().map(|value| whole(value, id)).collect(),
        Value::String(text) => text.replace(ID, id).into(),
        other => other.clone(),
    }
}

/// A document that is nearly another one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Values by their JSON pointers; what leads there is made, and `-` is a new item of a list.
    #[serde(default)]
    pub set: Map<String, Value>,
    /// JSON pointers of what is left out.
    #[serde(default)]
    pub without: Vec<String>,
}

impl Change {
    /// The document that is meant.
    pub fn of(&self, base: &Value, id: &str) -> Value {
        let mut document = base.clone();
        for pointer in &self.without {
            let (parent, key) = pointer.rsplit_once('/').expect("a JSON pointer");
            match document.pointer_mut(parent).unwrap_or_else(|| panic!("nothing at {pointer}")) {
                Value::Array(list) => drop(list.remove(key.parse().expect("an index"))),
                other => drop(other.as_object_mut().and_then(|map| map.remove(&plain(key)))),
            }
        }
        for (pointer, value) in &self.set {
            if pointer.is_empty() {
                document = value.clone();
            } else {
                put(&mut document, pointer, value.clone());
            }
        }
        whole(&document, id)
    }
}

fn plain(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

fn put(document: &mut Value, pointer: &str, value: Value) {
    let mut place = document;
    for step in pointer.split('/').skip(1) {
        if let Value::Array(list) = place {
            let index = if step == "-" { list.len() } else { step.parse().expect("an index") };
            list.resize_with(list.len().max(index + 1), Value::default);
            place = &mut list[index];
            continue;
        }
        if !place.is_object() {
            *place = Value::Object(Map::new());
        }
        place = place.as_object_mut().expect("an object").entry(plain(step)).or_insert(Value::Null);
    }
    *place = value;
}

/// The files of a surface: the category, which is the name of the file, and what it holds.
pub fn files<T: DeserializeOwned>(surface: &str) -> Vec<(String, T)> {
    files_with(surface, &[])
}

/// The same with texts in place of words that stand for them.
pub fn files_with<T: DeserializeOwned>(surface: &str, words: &[(&str, &str)]) -> Vec<(String, T)> {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(surface);
    let mut paths: Vec<PathBuf> =
        fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let name = |path: &PathBuf| path.file_stem().expect("a name").display().to_string();
    paths.iter().map(|path| (name(path), read(path, words))).collect()
}

fn read<T: DeserializeOwned>(path: &Path, words: &[(&str, &str)]) -> T {
    let text = fs::read_to_string(path).expect("a text");
    let text = words.iter().fold(text, |text, (word, meaning)| text.replace(word, meaning));
    let value: Value =
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_value(value).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A text, also where YAML takes it for something else, such as a status for a number.
pub fn words<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let value = Value::deserialize(from)?;
    Ok(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}
