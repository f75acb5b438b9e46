//! Values of the attributes by which orders are found.

use pagurus_domain::attributes::AttributeValue;

use crate::columns::columns;
use crate::sql::statements;
use crate::{Result, Tx};

statements! {
    PUT_VALUES = "
        INSERT INTO search_values (order_no, name, value)
        SELECT order_no, name, value FROM unnest($1::bigint[], $2::text[], $3::text[]) AS t (order_no, name, value)
        ON CONFLICT DO NOTHING";
    DROP_VALUES = "DELETE FROM search_values WHERE order_no = ANY($1::bigint[])";
}

/// Keeps the values of new orders.
pub(crate) async fn put_values(tx: &Tx<'_>, orders: &[(i64, &[AttributeValue])]) -> Result<()> {
    let values: Vec<(i64, &AttributeValue)> =
        orders.iter().flat_map(|(no, values)| values.iter().map(|value| (*no, value))).collect();
    if values.is_empty() {
        return Ok(());
    }
    let columns = columns!((no, value) in &values => {
        order_no: i64 = *no,
        name: &str = value.name.as_str(),
        value: &str = value.value.as_str(),
    });
    columns.execute(tx, PUT_VALUES, &[]).await?;
    Ok(())
}

/// Keeps the values of orders whose parameters have changed, in place of those that they had.
pub(crate) async fn replace_values(tx: &Tx<'_>, orders: &[(i64, &[AttributeValue])]) -> Result<()> {
    let nos: Vec<i64> = orders.iter().map(|(no, _)| *no).collect();
    tx.execute(&tx.prepare_cached(DROP_VALUES).await?, &[&nos]).await?;
    put_values(tx, orders).await
}
