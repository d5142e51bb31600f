//! `haft audit`
