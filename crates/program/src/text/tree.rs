//! Parameters as text has them: words, whole numbers, lists, and fields with names.
//!
//! One description of every parameter type serves printing, parsing, and whatever else has to look into parameters
//! without knowing the rows.

use std::fmt;

use tenferro_tensor::{
    AxisPadding, BatchPosition, Boundary, Combiner, Comparison, Conjugation, Contraction,
    Convolution, ConvolutionAxis, DType, Direction, GatherMode, Gathering, Indices, KeepAxes,
    Padding, Placement, Primitive, ScatterMode, SortOrder, Sweep, Ties, Window, WindowAxis,
    vocabulary,
};

use crate::Extent;

/// A parameter, or a part of one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Tree {
    Word(String),
    Number(i128),
    /// In templates, a number that depends on the sizes of named axes.
    Extent(Extent),
    List(Vec<Tree>),
    Fields(Vec<(String, Tree)>),
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tree::Word(word) => f.write_str(word),
            Tree::Number(number) => write!(f, "{number}"),
            Tree::Extent(extent) => write!(f, "{extent}"),
            Tree::List(items) => {
                let items: Vec<String> = items.iter().map(Tree::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
            Tree::Fields(fields) if fields.is_empty() => f.write_str("{}"),
            Tree::Fields(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|(name, tree)| format!("{name}: {tree}")).collect();
                write!(f, "{{ {} }}", fields.join(", "))
            }
        }
    }
}

/// Why a parameter cannot be read.
pub(crate) type Refused = String;

/// A type of parameters.
pub(crate) trait Parameter: Sized {
    fn tree(&self) -> Tree;

    fn read(tree: &Tree) -> Result<Self, Refused>;
}

impl Parameter for usize {
    fn tree(&self) -> Tree {
        Tree::Number(*self as i128)
    }

    fn read(tree: &Tree) -> Result<Self, Refused> {
        number(tree)
    }
}

impl Parameter for isize {
    fn tree(&self) -> Tree {
        Tree::Number(*self as i128)
    }

    fn read(tree: &Tree) -> Result<Self, Refused> {
        number(tree)
    }
}

fn number<T: TryFrom<i128>>(tree: &Tree) -> Result<T, Refused> {
    match tree {
        Tree::Number(number) => {
            T::try_from(*number).map_err(|_| format!("{number} is out of range"))
        }
        other => Err(format!("`{other}` is no whole number")),
    }
}

impl<T: Parameter> Parameter for Vec<T> {
    fn tree(&self) -> Tree {
        Tree::List(self.iter().map(T::tree).collect())
    }

    fn read(tree: &Tree) -> Result<Self, Refused> {
        match tree {
            Tree::List(items) => items.iter().map(T::read).collect(),
            other => Err(format!("`{other}` is no list")),
        }
    }
}

impl Parameter for Indices {
    fn tree(&self) -> Tree {
        self.to_vec().tree()
    }

    fn read(tree: &Tree) -> Result<Self, Refused> {
        Vec::read(tree).map(|indices: Vec<usize>| indices.into())
    }
}

impl Parameter for Padding {
    fn tree(&self) -> Tree {
        self.to_vec().tree()
    }

    fn read(tree: &Tree) -> Result<Self, Refused> {
        let axes: Vec<AxisPadding> = Vec::read(tree)?;
        let axes: Vec<_> = axes.iter().map(|axis| (axis.low, axis.high, axis.interior)).collect();
        Ok(Padding::from(&axes[..]))
    }
}

impl Parameter for Window {
    fn tree(&self) -> Tree {
        self.to_vec().tree()
    }

    fn read(tree: &Tree) -> Result<Self, Refused> {
        Vec::read(tree).map(|axes: Vec<WindowAxis>| axes.into())
    }
}

impl<T: Parameter> Parameter for Box<T> {
    fn tree(&self) -> Tree {
        T::tree(self)
    }

    fn read(tree: &Tree) -> Result<Self, Refused> {
        T::read(tree).map(Box::new)
    }
}

impl Parameter for DType {
    fn tree(&self) -> Tree {
        Tree::Word(self.name().into())
    }

    fn read(tree: &Tree) -> Result<Self, Refused> {
        let found = match tree {
            Tree::Word(word) => dtype(word),
            _ => None,
        };
        found.ok_or_else(|| format!("`{tree}` is no dtype"))
    }
}

/// The dtype of this name.
pub(crate) fn dtype(name: &str) -> Option<DType> {
    DType::ALL.iter().copied().find(|dtype| dtype.name() == name)
}

impl Parameter for Placement {
    fn tree(&self) -> Tree {
        match self {
            Placement::Replace => Tree::Word("Replace".into()),
            Placement::Combine(combiner) => combiner.tree(),
        }
    }

    fn read(tree: &Tree) -> Result<Self, Refused> {
        match tree {
            Tree::Word(word) if word == "Replace" => Ok(Placement::Replace),
            _ => Combiner::read(tree).map(Placement::Combine),
        }
    }
}

macro_rules! words {
    ($($Type:ident { $($Variant:ident),* })*) => {
        /// Whether a word is a parameter.
        pub(super) fn is_word(word: &str) -> bool {
            [$($(stringify!($Variant)),*),*].contains(&word)
                || word == "Replace"
                || dtype(word).is_some()
        }

        $(impl Parameter for $Type {
            fn tree(&self) -> Tree {
                Tree::Word(match self { $($Type::$Variant => stringify!($Variant),)* }.into())
            }

            fn read(tree: &Tree) -> Result<Self, Refused> {
                const WORDS: &[(&str, $Type)] = &[$((stringify!($Variant), $Type::$Variant)),*];
                let found = WORDS.iter().find(|(word, _)| matches!(tree, Tree::Word(w) if w == word));
                found.map(|(_, value)| *value).ok_or_else(|| {
                    let words: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
                    format!("`{tree}` is none of {}", words.join(", "))
                })
            }
        })*
    };
}

words! {
    KeepAxes { Drop, Keep }
    Comparison { Eq, Ne, Lt, Le, Gt, Ge }
    Ties { Even, Away }
    Conjugation { Plain, Conjugated }
    BatchPosition { Leading, Trailing }
    Combiner { Sum, Prod, Max, Min, And, Or, Xor }
    Boundary { Inclusive, Exclusive }
    Direction { Forward, Reverse }
    SortOrder { Ascending, Descending }
    GatherMode { Refuse, Clamp }
    ScatterMode { Refuse, Drop }
}

macro_rules! fields {
    ($($Type:ident = $default:expr => { $($field:ident),* })*) => {
        $(impl Parameter for $Type {
            /// Fields that are as usual are left out.
            fn tree(&self) -> Tree {
                let usual: $Type = $default;
                let mut fields = Vec::new();
                $(if self.$field != usual.$field {
                    fields.push((stringify!($field).to_owned(), self.$field.tree()));
                })*
                Tree::Fields(fields)
            }

            fn read(tree: &Tree) -> Result<Self, Refused> {
                let Tree::Fields(fields) = tree else {
                    return Err(format!("`{tree}` has no fields"));
                };
                let mut read: $Type = $default;
                for (name, tree) in fields {
                    match &name[..] {
                        $(stringify!($field) => {
                            read.$field = Parameter::read(tree).map_err(|why| format!("{name}: {why}"))?;
                        })*
                        _ => return Err(format!("there is no field `{name}`")),
                    }
                }
                Ok(read)
            }
        })*
    };
}

fields! {
    AxisPadding = AxisPadding::default() => { low, high, interior }
    WindowAxis = WindowAxis::of(1) => { extent, stride, dilation, low, high }
    ConvolutionAxis = ConvolutionAxis::VALID => { stride, low, high, lhs_dilation, rhs_dilation }
    Convolution = Convolution::valid(0) => { axes, groups }
    Sweep = Sweep::default() => { boundary, direction }
    Contraction = Contraction::default() => {
        lhs_contracting, rhs_contracting, lhs_batch, rhs_batch, batch, lhs, rhs
    }
    Gathering = Gathering::default() => {
        slice_extents, collapsed_axes, batch_axes, index_batch_axes, start_axes, slice_axes, component_axis
    }
}

/// The parameter of this name among fields.
pub(crate) fn parameter<T: Parameter>(fields: &[(String, Tree)], name: &str) -> Result<T, Refused> {
    Given::new(fields).take(name)
}

/// The fields of an operation, each taken once.
pub(crate) struct Given<'t> {
    fields: &'t [(String, Tree)],
}

impl<'t> Given<'t> {
    pub(crate) fn new(fields: &'t [(String, Tree)]) -> Self {
        Self { fields }
    }

    pub(crate) fn take<T: Parameter>(&self, name: &str) -> Result<T, Refused> {
        let mut found = self.fields.iter().filter(|(field, _)| field == name);
        let (_, tree) = found.next().ok_or_else(|| format!("parameter `{name}` is missing"))?;
        if found.next().is_some() {
            return Err(format!("parameter `{name}` is given twice"));
        }
        T::read(tree).map_err(|why| format!("{name}: {why}"))
    }

    /// Refuses what nobody took.
    pub(crate) fn finish(self, names: &[&str]) -> Result<(), Refused> {
        match self.fields.iter().find(|(name, _)| !names.contains(&&name[..])) {
            Some((name, _)) => Err(format!("there is no parameter `{name}`")),
            None => Ok(()),
        }
    }
}

macro_rules! rows {
    ($($family:ident $trait:ident $about:literal {
        $($variant:ident $method:ident $operands:tt $([$($param:ident: $ty:ty),+])? -> $result:ty, $accepts:ident, $doc:literal;)*
    })*) => {
        /// The parameters of a row, by name.
        pub(crate) fn parameters(primitive: &Primitive) -> Vec<(String, Tree)> {
            match primitive {
                $($(Primitive::$family(tenferro_tensor::$family::$variant $({ $($param),+ })?) => {
                    vec![$($((stringify!($param).to_owned(), $param.tree())),+)?]
                })*)*
            }
        }

        /// The row of this name with these parameters; `None` if there is no such row.
        pub(crate) fn primitive(
            name: &str,
            fields: &[(String, Tree)],
        ) -> Option<Result<Primitive, Refused>> {
            let given = Given::new(fields);
            Some(match name {
                $($(stringify!($method) => (|| {
                    $($(let $param: $ty = given.take(stringify!($param))?;)+)?
                    given.finish(&[$($(stringify!($param)),+)?])?;
                    Ok(tenferro_tensor::$family::$variant $({ $($param),+ })?.into())
                })(),)*)*
                _ => return None,
            })
        }
    };
}

vocabulary!(rows);
