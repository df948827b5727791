//! Generates keys for new rows. Keys are taken in blocks from a table of keys, so that this table
//! does not become a bottleneck.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::connection::{Begin, Connection, Value};
use super::error::{DatabaseError, DatabaseProblem};
use super::statements::Statement;

/// Keys per block.
const BLOCK: i64 = 1_000;

/// The block in use for each table.
#[derive(Debug, Default)]
pub(crate) struct Keys(Mutex<BTreeMap<&'static str, Block>>);

#[derive(Clone, Copy, Debug)]
struct Block {
    next: i64,
    end: i64,
}

impl Keys {
    /// Returns a key that no row of the table has ever had. Must not be called inside a
    /// transaction, because it may begin a transaction itself. If two callers find the block used
    /// up at the same time, each takes a new block. Only one of these blocks is kept; the other
    /// keys of the other block are never used.
    pub(crate) async fn next<C: Connection>(
        &self,
        connection: &mut C,
        table: &'static str,
    ) -> Result<i64, DatabaseError> {
        if let Some(key) = self.of_block(table) {
            return Ok(key);
        }
        // The commit must be durable. If a crash lost it, the same block would be assigned again,
        // and new rows would get keys that already exist.
        connection.begin(Begin::Durable).await?;
        let first = match take(connection, table).await {
            Ok(first) => connection.commit().await.map(|()| first),
            Err(error) => {
                connection.roll_back().await;
                Err(error)
            }
        }?;
        let rest = Block { next: first + 1, end: first + BLOCK };
        self.blocks().insert(table, rest);
        Ok(first)
    }

    fn of_block(&self, table: &'static str) -> Option<i64> {
        let mut blocks = self.blocks();
        let block = blocks.get_mut(table).filter(|block| block.next < block.end)?;
        block.next += 1;
        Some(block.next - 1)
    }

    /// Discards all blocks. Called after the tables have been loaded again.
    pub(crate) fn forget(&self) {
        self.blocks().clear();
    }

    fn blocks(&self) -> std::sync::MutexGuard<'_, BTreeMap<&'static str, Block>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn take<C: Connection>(connection: &mut C, table: &str) -> Result<i64, DatabaseError> {
    let rows = connection.query(Statement::KeyForUpdate, &[Value::Text(table)]).await?;
    let Some(row) = rows.first() else {
        let message = format!("the table of keys has no row for {table}");
        return Err(DatabaseError { problem: DatabaseProblem::NotLoaded, message });
    };
    connection.execute(Statement::TakeKeys, &[Value::Int(BLOCK), Value::Text(table)]).await?;
    Ok(row.int(0))
}
