//! The header of a NumPy file: dtype, shape, order, and where the elements begin.
//!
//! A header in hand is one that this program can read: its dtype is one that NumPy and Tenferro share, and its shape can
//! be addressed. The text is looked through before it is parsed, so that no parser meets nesting or numbers without
//! bound.

use std::{fmt, io::Read};

use npyz::{Endianness, NpyHeader, TypeChar};
use tenferro::tensor::DType;

use super::Problem;

/// Longer headers are not NumPy's: it refuses to read more than 10,000 bytes itself.
const LONGEST: u64 = 1 << 16;

/// Brackets of a shape stand within those of the dictionary; a record may nest a few more.
const DEEPEST: usize = 16;

const NO_DICTIONARY: &str = "it is not a dictionary as NumPy writes it";

/// Which axis of an array runs fastest in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, serde::Serialize)]
pub(crate) enum Order {
    /// Fortran's: the first axis runs fastest
    #[default]
    #[value(name = "F", alias = "f")]
    #[serde(rename = "F")]
    Fortran,
    /// C's: the last axis runs fastest
    #[value(name = "C", alias = "c")]
    C,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Order::Fortran => "F",
            Order::C => "C",
        })
    }
}

/// What a NumPy file says about its elements.
pub(super) struct Header {
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    pub(super) order: Order,
    /// Whether elements are in the machine's byte order.
    pub(super) native: bool,
    /// How many bytes the header takes; elements begin there.
    pub(super) length: u64,
    pub(super) parsed: NpyHeader,
}

impl Header {
    /// Reads the header that a file begins with.
    pub(super) fn read(reader: &mut impl Read) -> Result<Self, Problem> {
        let text = bytes(reader)?;
        let start = if text[6] == 1 { 10 } else { 12 };
        look_through(&text[start..])?;
        let parsed =
            NpyHeader::from_reader(&text[..]).map_err(|error| Problem::Header(reason(&error)))?;
        let dtype = parsed.dtype();
        let mut shape = Vec::with_capacity(parsed.shape().len());
        for &extent in parsed.shape() {
            shape.push(usize::try_from(extent).map_err(|_| Problem::TooLarge)?);
        }
        let order = match parsed.order() {
            npyz::Order::C => Order::C,
            npyz::Order::Fortran => Order::Fortran,
        };
        Ok(Self {
            dtype: shared(&dtype)?,
            shape,
            order,
            native: is_native(&dtype),
            length: text.len() as u64,
            parsed,
        })
    }

    /// How many bytes the elements take.
    pub(super) fn promised(&self) -> Result<u64, Problem> {
        let elements = self
            .shape
            .iter()
            .try_fold(1_usize, |product, &extent| product.checked_mul(extent))
            .and_then(|elements| elements.checked_mul(self.dtype.size()));
        elements.map(|bytes| bytes as u64).ok_or(Problem::TooLarge)
    }
}

/// What the parser says, unless it draws a picture of the text.
fn reason(error: &std::io::Error) -> String {
    let reason = error.to_string();
    if reason.contains('\n') { NO_DICTIONARY.to_owned() } else { reason }
}

/// The bytes of the whole header, magic string and all.
fn bytes(reader: &mut impl Read) -> Result<Vec<u8>, Problem> {
    let mut text = Vec::new();
    append(reader, &mut text, 8)?;
    if text.is_empty() {
        return Err(Problem::Empty);
    }
    if text.starts_with(b"PK\x03\x04") || text.starts_with(b"PK\x05\x06") {
        return Err(Problem::Archive);
    }
    if !text.starts_with(b"\x93NUMPY") {
        return Err(Problem::NotNumPy);
    }
    let &[_, _, _, _, _, _, major, minor] = &text[..] else {
        return Err(Problem::HeaderCutShort);
    };
    let field = match (major, minor) {
        (1, 0) => 2,
        (2 | 3, 0) => 4,
        _ => return Err(Problem::Version { major, minor }),
    };
    let mut length = Vec::new();
    append(reader, &mut length, field)?;
    if length.len() as u64 != field {
        return Err(Problem::HeaderCutShort);
    }
    text.extend(&length);
    // The length is little-endian.
    let length = length.iter().rev().fold(0, |length, &byte| length << 8 | u64::from(byte));
    if length > LONGEST {
        return Err(Problem::HeaderLength(length));
    }
    let before = text.len() as u64;
    append(reader, &mut text, length)?;
    if text.len() as u64 != before + length {
        return Err(Problem::HeaderCutShort);
    }
    Ok(text)
}

/// Reads up to `count` bytes, fewer only where the file ends.
fn append(reader: &mut impl Read, bytes: &mut Vec<u8>, count: u64) -> Result<(), Problem> {
    reader.take(count).read_to_end(bytes)?;
    Ok(())
}

/// Refuses header texts that no array file has: deep nesting, words that are none, shapes beyond any memory.
fn look_through(text: &[u8]) -> Result<(), Problem> {
    let damaged = |what: &str| Err(Problem::Header(what.to_owned()));
    let mut depth = 0_usize;
    let mut elements = 1_usize;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let rest = &text[at..];
        at += match byte {
            b'\'' | b'"' => match quoted(rest) {
                Some(length) => length,
                None => return damaged("a quotation does not end"),
            },
            b'{' | b'(' | b'[' => {
                depth += 1;
                if depth > DEEPEST {
                    return damaged("its brackets are nested too deeply");
                }
                1
            }
            b'}' | b')' | b']' => {
                depth = depth.saturating_sub(1);
                1
            }
            b' ' | b'\n' | b',' | b':' => 1,
            _ => {
                let is_word = |byte: &u8| byte.is_ascii_alphanumeric();
                let word = &rest[..rest.iter().position(|b| !is_word(b)).unwrap_or(rest.len())];
                if word.iter().all(u8::is_ascii_digit) && !word.is_empty() {
                    let extent = std::str::from_utf8(word).ok().and_then(|word| word.parse().ok());
                    let product = extent.and_then(|n: usize| elements.checked_mul(n.max(1)));
                    elements = product.ok_or(Problem::TooLarge)?;
                } else if !matches!(word, b"True" | b"False") {
                    return damaged(NO_DICTIONARY);
                }
                word.len()
            }
        };
    }
    if isize::try_from(elements).is_err() {
        return Err(Problem::TooLarge);
    }
    Ok(())
}

/// The length of the quotation that a text begins with, quotes included.
fn quoted(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match *text.get(at)? {
            b'\\' => at += 2,
            byte if byte == text[0] => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// The dtype of the table that a NumPy dtype is.
fn shared(dtype: &npyz::DType) -> Result<DType, Problem> {
    let npyz::DType::Plain(scalar) = dtype else {
        return Err(Problem::Records);
    };
    Ok(match (scalar.type_char(), scalar.size_field()) {
        (TypeChar::Bool, 1) => DType::Bool,
        (TypeChar::Int, 1) => DType::I8,
        (TypeChar::Int, 2) => DType::I16,
        (TypeChar::Int, 4) => DType::I32,
        (TypeChar::Int, 8) => DType::I64,
        (TypeChar::Uint, 1) => DType::U8,
        (TypeChar::Uint, 2) => DType::U16,
        (TypeChar::Uint, 4) => DType::U32,
        (TypeChar::Uint, 8) => DType::U64,
        (TypeChar::Float, 2) => DType::F16,
        (TypeChar::Float, 4) => DType::F32,
        (TypeChar::Float, 8) => DType::F64,
        (TypeChar::Complex, 8) => DType::C32,
        (TypeChar::Complex, 16) => DType::C64,
        (TypeChar::Object, _) => return Err(Problem::Objects),
        _ => return Err(Problem::DType { descr: dtype.descr() }),
    })
}

fn is_native(dtype: &npyz::DType) -> bool {
    match dtype {
        npyz::DType::Plain(scalar) => {
            matches!(scalar.endianness(), Endianness::Irrelevant)
                || scalar.endianness() == Endianness::of_machine()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4, 5), }";

    fn file(version: u8, text: &[u8]) -> Vec<u8> {
        let mut file = b"\x93NUMPY".to_vec();
        file.extend([version, 0]);
        let field = if version == 1 { 2 } else { 4 };
        file.extend(&(text.len() as u32).to_le_bytes()[..field]);
        file.extend(text);
        file
    }

    #[test]
    fn a_header_says_where_elements_begin() {
        let header = Header::read(&mut &file(3, TEXT.as_bytes())[..]).unwrap();
        assert_eq!((header.dtype, &header.shape[..]), (DType::F64, &[3, 4, 5][..]));
        assert_eq!((header.order, header.length), (Order::C, 12 + TEXT.len() as u64));
        assert_eq!(header.promised().unwrap(), 480);
    }

    fn fragment() -> impl Strategy<Value = String> {
        prop_oneof![
            "[(){}\\[\\],:'\"\\\\ 0-9]{1,8}",
            Just("(".to_owned()),
            Just("18446744073709551615,".to_owned()),
            Just("'>c16'".to_owned()),
            Just("[('x', '<f4', (9999999999, 9999999999))]".to_owned()),
            Just("True".to_owned()),
            Just("0x7fffffff".to_owned()),
            ".{0,4}",
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            ..ProptestConfig::with_cases(3000)
        })]

        /// Whatever stands in a header, reading it ends with a header or a refusal.
        #[test]
        fn no_header_makes_the_program_panic(
            version in 1_u8..=3,
            edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..12, fragment()), 0..5),
            bytes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..2),
        ) {
            let mut text = TEXT.as_bytes().to_vec();
            for (at, removed, fragment) in edits {
                let at = at.index(text.len() + 1);
                let end = (at + removed).min(text.len());
                text.splice(at..end, fragment.into_bytes());
            }
            let mut file = file(version, &text);
            for (at, byte) in bytes {
                let at = at.index(file.len());
                file[at] = byte;
            }
            if let Ok(header) = Header::read(&mut &file[..]) {
                let _ = header.promised();
            }
        }
    }
}
