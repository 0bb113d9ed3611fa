//! Pages of columns. The library reserves memory for as many values as a dictionary or a page says it has.

use parquet::basic::{Encoding, Type as Physical};
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::schema::types::ColumnDescriptor;

/// The pages of a column, which are checked.
pub(super) struct Pages {
    pages: Box<dyn PageReader>,
    /// Bytes of the shortest value in a dictionary.
    shortest: usize,
}

impl Pages {
    pub(super) fn new(pages: Box<dyn PageReader>, column: &ColumnDescriptor) -> Self {
        let shortest = match column.physical_type() {
            Physical::BOOLEAN => 1,
            // The length of a text is before it.
            Physical::INT32 | Physical::FLOAT | Physical::BYTE_ARRAY => 4,
            Physical::INT64 | Physical::DOUBLE => 8,
            Physical::INT96 => 12,
            Physical::FIXED_LEN_BYTE_ARRAY => usize::try_from(column.type_length()).unwrap_or_default().max(1),
        };
        Self { pages, shortest }
    }
}

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.pages.get_next_page()?;
        match &page {
            Some(Page::DictionaryPage { buf, num_values, .. }) if *num_values as usize > buf.len() / self.shortest => {
                Err(ParquetError::General("a dictionary is shorter than its values".to_owned()))
            }
            Some(Page::DataPage { encoding, .. } | Page::DataPageV2 { encoding, .. })
                if matches!(encoding, Encoding::DELTA_LENGTH_BYTE_ARRAY | Encoding::DELTA_BYTE_ARRAY) =>
            {
                let way = "write it with a dictionary or plain";
                Err(ParquetError::NYI(format!("a column is encoded as {encoding}; {way}")))
            }
            _ => Ok(page),
        }
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.pages.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.pages.skip_next_page()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
