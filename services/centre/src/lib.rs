//! The pages of the control centre.
