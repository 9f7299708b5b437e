//! Stage II's gate: the reader's uncertainty decides which episodes are admitted (xMemory §3.3).
//!
//! It sees only the uncertainty before and after a unit is shown to the reader, in nats or the
//! signal's own unit. How that is measured, and in what order units are shown, is up to the caller.

/// The decision on a probed unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inclusion {
    /// It stays in the context.
    Admit,
    /// It is rolled back.
    Refuse,
}

/// What a drop is measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reference {
    /// What is admitted already: an episode has to add something to it.
    Admitted,
    /// The coarse context, whatever was admitted since, as in the official code.
    Coarse,
}

/// When to admit, to expand and to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GatePolicy {
    /// What a drop is measured against.
    pub reference: Reference,
    /// Smallest drop that admits an episode …
    pub admit_drop_min: f64,
    /// … and as a share of the reference: both have to be reached.
    pub admit_share_min: f64,
    /// Smallest further drop (against the episode itself, or against the coarse context under
    /// [`Reference::Coarse`]) that expands an admitted episode to its messages.
    pub expand_drop_min: f64,
    /// Stops after this many refusals in a row.
    pub misses_max: usize,
    /// Stops after this many probes.
    pub probes_max: usize,
}

impl Default for GatePolicy {
    fn default() -> Self {
        Self {
            reference: Reference::Admitted,
            admit_drop_min: 0.02,
            admit_share_min: 0.03,
            expand_drop_min: 0.02,
            misses_max: 2,
            probes_max: 6,
        }
    }
}

/// The gate while a question's episodes are probed.
#[derive(Debug, Clone)]
pub struct UncertaintyGate {
    policy: GatePolicy,
    coarse: f64,
    admitted: f64,
    n_misses: usize,
    n_probes: usize,
}

impl UncertaintyGate {
    /// `coarse` is the uncertainty with the coarse context alone.
    pub fn new(policy: GatePolicy, coarse: f64) -> Self {
        Self { policy, coarse, admitted: coarse, n_misses: 0, n_probes: 0 }
    }

    /// What the next unit is compared with.
    pub fn reference(&self) -> f64 {
        match self.policy.reference {
            Reference::Admitted => self.admitted,
            Reference::Coarse => self.coarse,
        }
    }

    /// The uncertainty with everything admitted.
    pub fn admitted(&self) -> f64 {
        self.admitted
    }

    /// Whether a unit that changes the uncertainty from `before` to `after` is worth its tokens. NaN
    /// never admits.
    pub fn decide(&self, before: f64, after: f64) -> Inclusion {
        let drop = before - after;
        let enough = self.policy.admit_drop_min.max(self.policy.admit_share_min * before.abs());
        if drop > 0.0 && drop >= enough { Inclusion::Admit } else { Inclusion::Refuse }
    }

    /// Whether an admitted episode's raw messages are worth their tokens; `episode` is the uncertainty
    /// with the episode alone, `messages` with its messages too.
    pub fn decide_expansion(&self, episode: f64, messages: f64) -> Inclusion {
        let before = match self.policy.reference {
            Reference::Admitted => episode,
            Reference::Coarse => self.coarse,
        };
        let drop = before - messages;
        if drop > 0.0 && drop >= self.policy.expand_drop_min {
            Inclusion::Admit
        } else {
            Inclusion::Refuse
        }
    }

    /// Decides on a probe against [`UncertaintyGate::reference`] and records it.
    pub fn record(&mut self, after: f64) -> Inclusion {
        let inclusion = self.decide(self.reference(), after);
        self.n_probes += 1;
        match inclusion {
            Inclusion::Admit => {
                self.admitted = after;
                self.n_misses = 0;
            }
            Inclusion::Refuse => self.n_misses += 1,
        }
        inclusion
    }

    /// Records that the episode just admitted was expanded, with the uncertainty after that.
    pub fn record_expansion(&mut self, after: f64) {
        self.admitted = after;
    }

    /// Whether any unit could still be admitted: uncertainty is never below 0, so an almost certain
    /// reader has nothing to gain.
    pub fn can_gain(&self) -> bool {
        self.decide(self.reference(), 0.0) == Inclusion::Admit
    }

    /// Whether probing ends: too many refusals in a row, or too many probes.
    pub fn is_done(&self) -> bool {
        self.n_misses >= self.policy.misses_max || self.n_probes >= self.policy.probes_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_admission_raises_the_bar_for_the_next() {
        let mut gate = UncertaintyGate::new(GatePolicy::default(), 1.0);
        assert_eq!(gate.record(0.9), Inclusion::Admit);
        assert_eq!(gate.record(0.9), Inclusion::Refuse, "adds nothing to what is admitted");
        assert_eq!(gate.record(0.95), Inclusion::Refuse);
        assert!(gate.is_done(), "two misses in a row");
    }

    #[test]
    fn the_coarse_reference_stays_where_it_was() {
        let policy = GatePolicy {
            reference: Reference::Coarse,
            admit_drop_min: 0.45,
            expand_drop_min: 0.25,
            ..GatePolicy::default()
        };
        let mut gate = UncertaintyGate::new(policy, 1.0);
        assert_eq!(gate.record(0.5), Inclusion::Admit);
        assert_eq!(gate.record(0.54), Inclusion::Admit, "compared with 1.0, not with 0.5");
        assert_eq!(gate.record(0.56), Inclusion::Refuse);
        assert_eq!(gate.decide_expansion(0.5, 0.75), Inclusion::Admit);
        assert_eq!(gate.decide_expansion(0.5, 0.76), Inclusion::Refuse);
    }

    #[test]
    fn nan_and_no_change_never_admit() {
        let gate = UncertaintyGate::new(
            GatePolicy { admit_drop_min: 0.0, admit_share_min: 0.0, ..GatePolicy::default() },
            1.0,
        );
        for (before, after) in
            [(1.0, f64::NAN), (f64::NAN, 0.5), (1.0, 1.0), (1.0, 1.5), (0.0, 0.0)]
        {
            assert_eq!(gate.decide(before, after), Inclusion::Refuse, "{before} → {after}");
        }
    }

    #[test]
    fn a_certain_reader_gains_nothing() {
        assert!(UncertaintyGate::new(GatePolicy::default(), 0.5).can_gain());
        assert!(!UncertaintyGate::new(GatePolicy::default(), 0.01).can_gain());
        assert!(!UncertaintyGate::new(GatePolicy::default(), f64::NAN).can_gain());
    }

    #[test]
    fn probes_are_limited() {
        let mut gate =
            UncertaintyGate::new(GatePolicy { probes_max: 2, ..GatePolicy::default() }, 1.0);
        gate.record(0.5);
        assert!(!gate.is_done());
        gate.record(0.1);
        assert!(gate.is_done());
    }
}
