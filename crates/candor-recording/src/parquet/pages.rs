//! Pages of columns. The library reserves memory for as many values as a dictionary says it has.

use parquet::bloom_filter::Sbbf;
use parquet::column::page::{Page, PageMetadata, PageReader};
use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::reader::RowIter;
use parquet::schema::types::Type;

/// A file whose dictionaries are checked.
pub(super) struct Checked<R: ChunkReader>(SerializedFileReader<R>);

impl<R: ChunkReader + 'static> Checked<R> {
    pub(super) fn new(file: R) -> Result<Self> {
        SerializedFileReader::new(file).map(Self)
    }
}

impl<R: ChunkReader + 'static> FileReader for Checked<R> {
    fn metadata(&self) -> &ParquetMetaData {
        self.0.metadata()
    }

    fn num_row_groups(&self) -> usize {
        self.0.num_row_groups()
    }

    fn get_row_group(&self, number: usize) -> Result<Box<dyn RowGroupReader + '_>> {
        Ok(Box::new(Group(self.0.get_row_group(number)?)))
    }

    fn get_row_iter(&self, columns: Option<Type>) -> Result<RowIter<'_>> {
        RowIter::from_file(columns, self)
    }
}

struct Group<'a>(Box<dyn RowGroupReader + 'a>);

impl RowGroupReader for Group<'_> {
    fn metadata(&self) -> &RowGroupMetaData {
        self.0.metadata()
    }

    fn num_columns(&self) -> usize {
        self.0.num_columns()
    }

    fn get_column_page_reader(&self, number: usize) -> Result<Box<dyn PageReader>> {
        Ok(Box::new(Pages(self.0.get_column_page_reader(number)?)))
    }

    fn get_column_bloom_filter(&self, number: usize) -> Option<&Sbbf> {
        self.0.get_column_bloom_filter(number)
    }

    fn get_row_iter(&self, columns: Option<Type>) -> Result<RowIter<'_>> {
        RowIter::from_row_group(columns, self)
    }
}

struct Pages(Box<dyn PageReader>);

impl PageReader for Pages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.0.get_next_page()?;
        // A value has at least a bit.
        if let Some(Page::DictionaryPage { buf, num_values, .. }) = &page
            && *num_values as usize / 8 > buf.len()
        {
            return Err(ParquetError::General("a dictionary is shorter than its values".to_owned()));
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.0.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.0.skip_next_page()
    }
}

impl Iterator for Pages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
