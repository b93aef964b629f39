//! Rules that the model can leave out, one at a time.

/// The product's rules stay as they are: the model ignores an answer, or changes a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Effects start before the log has acknowledged their plan.
    NoGate,
    /// Agents are not frozen when the lease is about to pass.
    NoFreeze,
    /// Only the runner's process freezes agents, so a stopped one freezes none.
    FreezeByRunnerOnly,
    /// The lease counts from when the answer to a beat arrives.
    LeaseFromAnswer,
    /// A repeated append is taken for a new one.
    NotIdempotent,
    /// An adopted task keeps its epoch.
    AdoptWithOldEpoch,
    /// A registration counts whatever incarnation it has seen.
    RegisterWithoutComparing,
    /// The tasks of an older incarnation are released at once.
    ReleaseAtOnce,
    /// A beat does not name the tasks that the runner does not know it owns.
    BeatWithoutYours,
}
