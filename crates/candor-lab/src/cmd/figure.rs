//! `candor-lab figure`: tables and figures of the documentation.

mod bursts;
mod bus_off;
mod inversion;
mod log;
mod saturation;

use std::error::Error;
use std::fs;
use std::path::Path;

use candor_cli::{Exit, Outcome, render};
use serde_json::Value;

use crate::cli::{Figure, FigureArgs};

/// The results do not fit the figure.
type Unfit = Box<dyn Error>;

/// A table as Markdown and an SVG drawing. Either may be empty.
#[derive(Debug, Default)]
struct Made {
    table: String,
    svg: String,
}

pub(crate) fn run(args: &FigureArgs) -> Outcome {
    let json = || args.results.iter().map(|path| read_json(path)).collect::<Result<Vec<_>, _>>();
    let logs = || args.results.iter().map(|path| log::read(&read(path)?)).collect::<Result<Vec<_>, Unfit>>();
    let made = match args.which {
        Figure::Saturation => saturation::make(&json()?)?,
        Figure::Bursts => bursts::engines(&json()?)?,
        Figure::Buses => bursts::buses(&json()?)?,
        Figure::BusOff => bus_off::make(&logs()?)?,
        Figure::Inversion => inversion::make(&logs()?)?,
    };
    render::out(&made.table)?;
    if let Some(path) = &args.svg {
        fs::write(path, made.svg).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        render::out(&format!("Figure: {}\n", path.display()))?;
    }
    Ok(Exit::Fine)
}

fn read(path: &Path) -> Result<String, Unfit> {
    Ok(fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()))?)
}

fn read_json(path: &Path) -> Result<Value, Unfit> {
    Ok(serde_json::from_str(&read(path)?).map_err(|error| format!("{} is not JSON: {error}", path.display()))?)
}

fn number(of: &Value, key: &str) -> Result<f64, Unfit> {
    Ok(of[key].as_f64().ok_or_else(|| format!("`{key}` is missing in {of}"))?)
}

fn array<'a>(of: &'a Value, key: &str) -> Result<&'a [Value], Unfit> {
    Ok(of[key].as_array().ok_or_else(|| format!("`{key}` is missing in {of}"))?)
}

fn text<'a>(of: &'a Value, key: &str) -> Result<&'a str, Unfit> {
    Ok(of[key].as_str().ok_or_else(|| format!("`{key}` is missing in {of}"))?)
}
