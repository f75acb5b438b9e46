//! Whole numbers in other types.

/// Returns a number in another type, or the nearest that the type has.
#[must_use]
pub fn saturated<To: WholeNumber>(number: impl WholeNumber) -> To {
    To::nearest(number.widest())
}

/// Returns a count with the words for one thing, or those for several.
#[must_use]
pub fn counted(count: impl WholeNumber, one: &str, several: &str) -> String {
    let count = count.widest();
    format!("{count} {}", if count == 1 { one } else { several })
}

/// Type of whole numbers.
pub trait WholeNumber: Copy {
    /// The number in the widest type, or the largest of that.
    fn widest(self) -> i128;

    /// The nearest number of this type.
    fn nearest(number: i128) -> Self;
}

macro_rules! whole_numbers {
    ($($number:ident),+) => {
        $(impl WholeNumber for $number {
            fn widest(self) -> i128 {
                i128::try_from(self).unwrap_or(i128::MAX)
            }

            fn nearest(number: i128) -> Self {
                Self::try_from(number).unwrap_or(if number < 0 { Self::MIN } else { Self::MAX })
            }
        })+
    };
}

whole_numbers!(i16, i32, i64, i128, u16, u32, u64, u128, usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_has_the_words_for_one_or_for_several() {
        let counted = |count: usize| counted(count, "flow does not work", "flows do not work");
        assert_eq!(
            [0, 1, 2].map(counted),
            ["0 flows do not work", "1 flow does not work", "2 flows do not work"]
        );
    }

    #[test]
    fn a_number_that_does_not_fit_becomes_the_nearest() {
        assert_eq!(saturated::<i64>(7_usize), 7);
        assert_eq!(saturated::<i64>(u64::MAX), i64::MAX);
        assert_eq!(saturated::<u64>(-7_i64), 0);
        assert_eq!(saturated::<i32>(i64::MIN), i32::MIN);
        assert_eq!(saturated::<u32>(u128::MAX), u32::MAX);
    }
}
