//! Report of a seed that fails.

use crate::outcome::Outcome;
use crate::planted::Planted;
use crate::run::run;
use crate::scenarios::Deployment;

/// The run with the fewest orders that still fails: halves, then one order less at a time.
///
/// # Errors
/// A run cannot be made.
pub fn shrunk(failed: Outcome, planted: Option<Planted>, deployment: &Deployment) -> Result<Outcome, String> {
    let mut least = failed;
    for tries in [1, 2, 3, 5, 8, 12, 20, 30, 50, 80, 120].into_iter().filter(|tries| *tries < least.orders) {
        let outcome = run(least.seed, tries, planted, deployment, false)?;
        if !outcome.is_good() {
            least = outcome;
            break;
        }
    }
    Ok(least)
}
