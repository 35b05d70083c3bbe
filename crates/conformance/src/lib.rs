//! Suites any driver, map or filter can be run through
