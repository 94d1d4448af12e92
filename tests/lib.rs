//! Scenarios, conformance, chaos and benchmarks of the whole gateway.
