//! What keeps the tables in order beside the work: migrations, deletion, walks, stops, windows and schedules.

pub mod clock;
pub mod decisions;
pub mod deletion;
pub mod doctor;
pub mod first;
pub mod flows;
pub mod forecasts;
pub mod migrate;
pub mod replays;
pub mod retention;
pub mod revision;
pub mod roles;
pub mod schedules;
pub mod shift;
pub mod stops;
pub mod subscriptions;
pub mod walks;
pub mod windows;
