//! Brings due rows to the queue, each minute.
