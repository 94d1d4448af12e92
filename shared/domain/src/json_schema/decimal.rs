//! Decimal arithmetic for `multipleOf`: 0.3 is a multiple of 0.1, which binary fractions deny.

use serde_json::Number;

/// `digits × 10^exponent`, without its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    /// Below 2^64.
    digits: u128,
    exponent: i32,
}

impl Decimal {
    /// The shortest decimal that is read as this number.
    pub(super) fn of(number: &Number) -> Option<Self> {
        let whole = number.as_u64();
        if let Some(whole) = whole.or_else(|| number.as_i64().map(i64::unsigned_abs)) {
            let (digits, exponent) = (u128::from(whole), 0);
            return Some(Self { digits, exponent });
        }
        let text = format!("{:e}", number.as_f64()?.abs());
        let (digits, exponent) = text.split_once('e')?;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let exponent: i32 = exponent.parse().ok()?;
        Some(Self {
            digits: format!("{whole}{fraction}").parse().ok()?,
            exponent: exponent - i32::try_from(fraction.len()).ok()?,
        })
    }

    /// `of` is not zero.
    pub(super) fn is_multiple(self, of: Self) -> bool {
        if self.digits == 0 {
            return true;
        }
        let shift = self.exponent - of.exponent;
        let Ok(more) = u32::try_from(shift) else {
            // The divisor is digits × 10^n; if that does not fit, it is larger than the number.
            let scale = 10_u128.checked_pow(shift.unsigned_abs());
            let divisor = scale.and_then(|scale| of.digits.checked_mul(scale));
            return divisor.is_some_and(|divisor| self.digits.is_multiple_of(divisor));
        };
        let mut rest = self.digits % of.digits;
        for _ in 0..more {
            // Below 2^64 × 10.
            rest = rest * 10 % of.digits;
        }
        rest == 0
    }
}
