//! What only this folder can see: death between any two steps.
