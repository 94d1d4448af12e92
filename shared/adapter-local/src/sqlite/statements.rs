//! Prepared statements that the writing thread keeps.
//!
//! The connection's own cache hashes and copies the SQL for each use, and frees the memory of bound values. Here a statement is
//! found by the address of its SQL, and keeps that memory.

use std::cell::RefCell;
use std::collections::HashMap;

use rusqlite::{Connection, Params, PrepFlags, Statement};

pub(super) struct Statements<'db> {
    db: &'db Connection,
    kept: RefCell<HashMap<(usize, usize), Statement<'db>>>,
}

impl<'db> Statements<'db> {
    pub(super) fn of(db: &'db Connection) -> Self {
        Self {
            db,
            kept: RefCell::default(),
        }
    }

    /// Runs a statement that returns no rows; returns how many rows it changed. `'static`, so that no other SQL can have its
    /// address.
    pub(super) fn execute(
        &self,
        sql: &'static str,
        params: impl Params,
    ) -> rusqlite::Result<usize> {
        let key = (sql.as_ptr().addr(), sql.len());
        // Taken out while it runs, so that a statement can be run from within another.
        let kept = self.kept.borrow_mut().remove(&key);
        let mut statement = match kept {
            Some(statement) => statement,
            None => {
                let flags = PrepFlags::SQLITE_PREPARE_PERSISTENT;
                self.db.prepare_with_flags(sql, flags)?
            }
        };
        let changed = statement.execute(params);
        self.kept.borrow_mut().insert(key, statement);
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_that_failed_can_be_run_again() {
        let db = Connection::open_in_memory().unwrap();
        let statements = Statements::of(&db);
        statements
            .execute("CREATE TABLE t (n INTEGER NOT NULL) STRICT", [])
            .unwrap();
        let insert = "INSERT INTO t VALUES (?1)";
        assert!(statements.execute(insert, [None::<i64>]).is_err());
        assert_eq!(statements.execute(insert, [Some(1)]), Ok(1));
        assert_eq!(statements.kept.borrow().len(), 2);
    }
}
