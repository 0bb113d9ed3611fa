//! The columns that a table needs.

use parquet::basic::{ConvertedType, LogicalType, Type as Physical};
use parquet::schema::types::ColumnDescriptor;

/// The columns of [`Writer`](super::Writer).
pub(super) const COLUMNS: [(&str, Kind); 12] = [
    ("time_ns", Kind::Integer),
    ("clock", Kind::Text),
    ("bus", Kind::Text),
    ("direction", Kind::Text),
    ("kind", Kind::Text),
    ("id", Kind::Integer),
    ("extended", Kind::Bit),
    ("dlc", Kind::Integer),
    ("length", Kind::Integer),
    ("brs", Kind::Bit),
    ("esi", Kind::Bit),
    ("data", Kind::Bytes),
];

/// What the values of a column are.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Integer,
    Text,
    Bit,
    Bytes,
}

impl Kind {
    /// True if a column can have such values.
    pub(super) fn fits(self, column: &ColumnDescriptor) -> bool {
        if column.max_rep_level() > 0 || column.max_def_level() > 1 {
            return false;
        }
        let (physical, converted) = (column.physical_type(), column.converted_type());
        // What pyarrow writes for a column without any value.
        let is_null = column.logical_type_ref() == Some(&LogicalType::Unknown);
        match self {
            Self::Text | Self::Bytes if is_null => physical == Physical::INT32,
            Self::Integer => {
                let is_plain = converted == ConvertedType::NONE || is_unsigned(converted) || is_signed(converted);
                is_plain && matches!(physical, Physical::INT32 | Physical::INT64)
            }
            Self::Text => physical == Physical::BYTE_ARRAY,
            Self::Bit => physical == Physical::BOOLEAN,
            Self::Bytes => {
                let is_bytes = matches!(physical, Physical::BYTE_ARRAY | Physical::FIXED_LEN_BYTE_ARRAY);
                is_bytes && converted == ConvertedType::NONE
            }
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Integer => "an integer",
            Self::Text => "text",
            Self::Bit => "a boolean",
            Self::Bytes => "bytes",
        }
    }
}

const fn is_signed(converted: ConvertedType) -> bool {
    matches!(converted, ConvertedType::INT_8 | ConvertedType::INT_16 | ConvertedType::INT_32 | ConvertedType::INT_64)
}

pub(super) const fn is_unsigned(converted: ConvertedType) -> bool {
    matches!(
        converted,
        ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
    )
}
