//! Filters of system calls, for processes that are about to run what is not ours.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, Error, SeccompAction, SeccompFilter, TargetArch};
pub(crate) use seccompiler::{
    SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition as Condition, SeccompRule as Rule,
};

/// What becomes of a system call, by its arguments; one without rules matches whatever they are.
pub(crate) type Rules = BTreeMap<i64, Vec<Rule>>;

/// One filter more for this process and all that it starts, for good. Of several the kernel takes the
/// harder answer.
pub(crate) fn apply(
    rules: Rules,
    otherwise: SeccompAction,
    matched: SeccompAction,
) -> Result<(), Error> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let program: BpfProgram = SeccompFilter::new(rules, otherwise, matched, arch)?.try_into()?;
    seccompiler::apply_filter(&program)
}

/// The same for what matches: it is told that it may not.
pub(crate) fn refuse(rules: Rules) -> Result<(), Error> {
    let no = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    apply(rules, SeccompAction::Allow, no)
}
