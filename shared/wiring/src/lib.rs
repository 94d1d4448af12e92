//! Puts the ports of a function together from its environment.
