//! The strict parser.
