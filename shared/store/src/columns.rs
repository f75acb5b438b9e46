//! Parameters of a statement for many rows: a list of values for each column of its `unnest`.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::{Connection, Result};

/// Columns of many rows, in the order of the statement's `unnest`. Made by [`columns!`].
pub(crate) struct Columns<'a> {
    names: &'static [&'static str],
    values: Vec<Box<dyn ToSql + Sync + Send + 'a>>,
}

/// Makes [`Columns`] of rows: for each column its name, the type of a value, and the value of a row.
///
/// ```ignore
/// columns!(one in stages => {
///     no: i64 = one.no.0,
///     pass: Uuid = one.pass.0,
/// })
/// ```
macro_rules! columns {
    ($row:pat in $rows:expr => { $($name:ident: $kind:ty = $value:expr),+ $(,)? }) => {{
        let rows = $rows;
        #[allow(unused_variables, reason = "a column seldom needs every part of a row")]
        let columns = $crate::columns::Columns::new(
            &[$(stringify!($name)),+],
            vec![$(Box::new(rows.iter().map(|$row| $value).collect::<Vec<$kind>>())),+],
        );
        columns
    }};
}
pub(crate) use columns;

impl<'a> Columns<'a> {
    /// Columns of these names.
    pub(crate) fn new(
        names: &'static [&'static str],
        values: Vec<Box<dyn ToSql + Sync + Send + 'a>>,
    ) -> Self {
        Self { names, values }
    }

    /// Runs a statement whose first parameters these columns are; `more` are those that follow.
    pub(crate) async fn execute(
        &self,
        on: &impl Connection,
        sql: &str,
        more: &[&(dyn ToSql + Sync)],
    ) -> Result<u64> {
        let statement = on.prepare_cached(sql).await?;
        Ok(on.execute(&statement, &self.parameters(sql, more)).await?)
    }

    /// Runs a statement like [`Self::execute`], and reads its rows.
    pub(crate) async fn query(
        &self,
        on: &impl Connection,
        sql: &str,
        more: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>> {
        let statement = on.prepare_cached(sql).await?;
        Ok(on.query(&statement, &self.parameters(sql, more)).await?)
    }

    fn parameters<'p>(&'p self, sql: &str, more: &[&'p (dyn ToSql + Sync)]) -> Vec<&'p (dyn ToSql + Sync)> {
        // The names stand in the statement, too: in another order they would be other columns.
        debug_assert_eq!(unnested(sql).as_deref(), Some(self.names), "{sql}");
        let columns = self.values.iter().map(|column| &**column as &'p (dyn ToSql + Sync));
        columns.chain(more.iter().copied()).collect()
    }
}

/// Names of the columns of a statement's first `unnest`.
fn unnested(sql: &str) -> Option<Vec<&str>> {
    let (_, list) = sql.split_once("unnest(")?;
    let (_, rest) = list.split_once(')')?;
    let (_, names) = rest.trim_start().strip_prefix("AS ")?.split_once('(')?;
    let (names, _) = names.split_once(')')?;
    Some(names.split(',').map(str::trim).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_an_unnest_are_found_by_their_names() {
        let sql =
            "UPDATE a SET b = t.b FROM unnest($1::bigint[], $2::text[])\n  AS t (no,\n   b) WHERE (x) = (y)";
        assert_eq!(unnested(sql), Some(vec!["no", "b"]));
        assert_eq!(unnested("INSERT INTO a (b) SELECT * FROM unnest($1::bigint[])"), None);
        assert_eq!(unnested("SELECT a FROM b AS c (d)"), None);
    }
}
