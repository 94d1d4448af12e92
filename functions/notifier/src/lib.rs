//! Mails what the owner of a webhook must know.
