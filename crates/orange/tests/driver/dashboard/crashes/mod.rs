//! What only marked steps and written frames can show.

mod panics;
mod truth;
