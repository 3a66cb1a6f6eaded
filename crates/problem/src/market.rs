//! Problems as MatrixMarket text.

use std::fmt::Write;

use plash_solve::Csr;

use crate::error::Fault;
use crate::stored::Stored;

/// The header line of a file.
struct Banner {
    coordinate: bool,
    symmetric: bool,
}

/// The lines of a file that carry numbers, each with its number from one.
struct Lines<'a> {
    lines: std::iter::Enumerate<std::str::Lines<'a>>,
    last: usize,
}

impl<'a> Iterator for Lines<'a> {
    type Item = (usize, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        for (at, line) in self.lines.by_ref() {
            self.last = at + 1;
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('%') {
                return Some((at + 1, line));
            }
        }
        None
    }
}

impl Lines<'_> {
    fn end(&self, wanted: &str) -> Fault {
        fault(self.last, format!("the file ends; {wanted} should follow"))
    }
}

fn fault(line: usize, message: impl Into<String>) -> Fault {
    Fault::new(format!("line {line}"), message)
}

/// Reads the banner; what follows are lines of numbers.
fn open(text: &str) -> Result<(Banner, Lines<'_>), Fault> {
    let mut lines = text.lines().enumerate();
    let banner = lines
        .next()
        .map_or("", |(_, line)| line)
        .to_ascii_lowercase();
    let words: Vec<&str> = banner.split_whitespace().collect();
    let wrong = |message: &str| fault(1, message);
    let &["%%matrixmarket", "matrix", format, field, symmetry] = words.as_slice() else {
        return Err(wrong(
            "should read %%MatrixMarket matrix FORMAT FIELD SYMMETRY",
        ));
    };
    let coordinate = match format {
        "coordinate" => true,
        "array" => false,
        _ => return Err(wrong("the format should be coordinate or array")),
    };
    if !["real", "integer", "double"].contains(&field) {
        return Err(wrong(
            "the field should be real; complex and pattern are not read",
        ));
    }
    let symmetric = match symmetry {
        "symmetric" => true,
        "general" => false,
        _ => return Err(wrong("the symmetry should be symmetric or general")),
    };
    let banner = Banner {
        coordinate,
        symmetric,
    };
    Ok((banner, Lines { lines, last: 1 }))
}

/// The whole numbers of a line.
fn sizes<const N: usize>(line: Option<(usize, &str)>, names: &str) -> Result<[usize; N], Fault> {
    let (at, text) = line.unwrap_or((1, ""));
    let wrong = || fault(at, format!("should hold {names}"));
    let mut words = text.split_whitespace();
    let mut sizes = [0; N];
    for size in &mut sizes {
        let word = words.next().ok_or_else(wrong)?;
        *size = word.parse().map_err(|_| wrong())?;
    }
    words.next().is_none().then_some(sizes).ok_or_else(wrong)
}

fn number(at: usize, word: Option<&str>) -> Result<f64, Fault> {
    let value: Option<f64> = word.and_then(|word| word.parse().ok());
    value.filter(|value| value.is_finite()).ok_or_else(|| {
        fault(
            at,
            format!("`{}` is not a finite number", word.unwrap_or("")),
        )
    })
}

/// Reads a matrix from the text of a `.mtx` file.
pub(crate) fn read_matrix(text: &str) -> Result<Csr, Fault> {
    let (banner, mut lines) = open(text)?;
    if !banner.coordinate {
        return Err(fault(1, "a sparse matrix should be in coordinate format"));
    }
    let [rows, columns, count] = sizes(lines.next(), "rows, columns and entries")?;
    let head = lines.last;
    if rows != columns {
        return Err(fault(head, format!("{rows} × {columns} is not square")));
    }
    // The shortest entry, `1 1 1`, is six bytes with its end of line: nobody is believed who
    // promises more, and a row without entries makes the matrix singular.
    if count > text.len() / 6 + 1 || rows > count || count >= (u32::MAX / 2) as usize {
        return Err(fault(
            head,
            format!("{count} entries in {rows} rows do not fit the rest of the file"),
        ));
    }
    let mut entries: Vec<(u32, u32, f64)> = Vec::new();
    for _ in 0..count {
        let (at, line) = lines.next().ok_or_else(|| lines.end("another entry"))?;
        let mut words = line.split_whitespace();
        let mut index = || {
            let word = words.next().and_then(|word| word.parse::<usize>().ok());
            word.filter(|i| (1..=rows).contains(i))
                .ok_or_else(|| fault(at, format!("indices should be between 1 and {rows}")))
        };
        let (i, j) = (index()? as u32 - 1, index()? as u32 - 1);
        let value = number(at, words.next())?;
        entries.push((i, j, value));
        if banner.symmetric && i != j {
            entries.push((j, i, value));
        }
    }
    if let Some((at, _)) = lines.next() {
        return Err(fault(
            at,
            format!("more entries than the {count} announced"),
        ));
    }
    assemble(rows, entries)
}

/// A matrix from entries in any order; entries of one place are added.
fn assemble(rows: usize, mut entries: Vec<(u32, u32, f64)>) -> Result<Csr, Fault> {
    entries.sort_by_key(|&(i, j, _)| (i, j));
    entries.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        if same {
            kept.2 += next.2;
        }
        same
    });
    let mut starts = vec![0_u32; rows + 1];
    entries
        .iter()
        .for_each(|&(i, ..)| starts[i as usize + 1] += 1);
    for i in 0..rows {
        starts[i + 1] += starts[i];
    }
    let columns = entries.iter().map(|&(_, j, _)| j).collect();
    let values = entries.iter().map(|&(.., value)| value).collect();
    Csr::new(starts, columns, values).map_err(|error| Fault::new("matrix", error.to_string()))
}

/// Reads a dense array: rows, columns, and the entries column by column.
pub(crate) fn read_array(text: &str) -> Result<(usize, usize, Vec<f64>), Fault> {
    let (banner, mut lines) = open(text)?;
    if banner.coordinate || banner.symmetric {
        return Err(fault(1, "should be `array real general`"));
    }
    let [rows, columns] = sizes(lines.next(), "rows and columns")?;
    let count = rows.checked_mul(columns);
    let count = count.filter(|&count| count <= text.len()).ok_or_else(|| {
        fault(
            lines.last,
            format!("{rows} × {columns} numbers do not fit the file"),
        )
    })?;
    let mut values = Vec::new();
    for _ in 0..count {
        let (at, line) = lines.next().ok_or_else(|| lines.end("another number"))?;
        values.push(number(at, Some(line))?);
    }
    match lines.next() {
        Some((at, _)) => Err(fault(
            at,
            format!("more than the {count} numbers announced"),
        )),
        None => Ok((rows, columns, values)),
    }
}

/// Reads a problem from the texts of its files: the matrix, and if they are there the
/// right-hand side (else ones), the walls (else none) and the coordinates.
///
/// # Errors
/// What is wrong, and in which line; the index in the second part tells in which text.
pub fn read_market_text(texts: [Option<&str>; 4]) -> Result<Stored, (usize, Fault)> {
    let [matrix, rhs, walls, coords] = texts;
    let within = |text: usize| move |fault: Fault| (text, fault);
    let matrix = read_matrix(matrix.unwrap_or_default()).map_err(within(0))?;
    let rows = matrix.rows();
    let rhs = match rhs {
        Some(text) => column(text, Some(rows)).map_err(within(1))?,
        None => vec![1.0; rows],
    };
    let walls = match walls {
        Some(text) => indices(text, rows).map_err(within(2))?,
        None => Vec::new(),
    };
    let mut stored = Stored::new(matrix, rhs, walls);
    if let Some(text) = coords {
        let (n, dimensions, by_column) = read_array(text).map_err(within(3))?;
        if n != rows || ![2, 3].contains(&dimensions) {
            let message = format!("{n} × {dimensions} should be {rows} × 2 or {rows} × 3");
            return Err((3, Fault::new("array", message)));
        }
        let by_row = (0..n * dimensions).map(|k| by_column[k % dimensions * n + k / dimensions]);
        stored = stored.with_coords(dimensions, by_row.collect());
    }
    stored.check().map_err(within(0))
}

/// A dense vector.
pub(crate) fn column(text: &str, rows: Option<usize>) -> Result<Vec<f64>, Fault> {
    let (n, columns, values) = read_array(text)?;
    if columns != 1 || rows.is_some_and(|rows| rows != n) {
        let wanted = rows.map_or("n".to_owned(), |rows| rows.to_string());
        let message = format!("{n} × {columns} should be {wanted} × 1");
        return Err(Fault::new("array", message));
    }
    Ok(values)
}

/// A vector of unknowns, which MatrixMarket counts from one.
fn indices(text: &str, rows: usize) -> Result<Vec<u32>, Fault> {
    let values = column(text, None)?;
    let index = |value: &f64| {
        let whole = value.fract() == 0.0 && (1.0..=rows as f64).contains(value);
        whole.then(|| *value as u32 - 1).ok_or_else(|| {
            let message = format!("{value} is not an unknown between 1 and {rows}");
            Fault::new("array", message)
        })
    };
    values.iter().map(index).collect()
}

/// The lower triangle of a matrix as text.
pub(crate) fn write_matrix(matrix: &Csr) -> String {
    let lower = |i: usize| {
        let (columns, values) = matrix.row(i);
        let entries = columns.iter().zip(values);
        entries.filter(move |&(&j, _)| j as usize <= i)
    };
    let rows = matrix.rows();
    let count: usize = (0..rows).map(|i| lower(i).count()).sum();
    let mut text =
        format!("%%MatrixMarket matrix coordinate real symmetric\n{rows} {rows} {count}\n");
    for i in 0..rows {
        for (&j, value) in lower(i) {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{} {} {value:e}", i + 1, j + 1);
        }
    }
    text
}

/// A dense array as text, from its entries column by column.
pub(crate) fn write_array(
    rows: usize,
    columns: usize,
    values: impl Iterator<Item = f64>,
) -> String {
    let mut text = format!("%%MatrixMarket matrix array real general\n{rows} {columns}\n");
    for value in values {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{value:e}");
    }
    text
}
