//! Least squares in two variables.

/// `base + slopes[0]·x + slopes[1]·y`
#[derive(Debug)]
pub(super) struct Fit {
    pub(super) base: f64,
    pub(super) slopes: [f64; 2],
    /// Share of the variance that it explains.
    pub(super) r2: f64,
}

/// Of points `[x, y, value]`; nothing where they do not determine it.
pub(super) fn fit(points: &[[f64; 3]]) -> Option<Fit> {
    let count = points.len() as f64;
    let mean = |of: fn(&[f64; 3]) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mx, my, mz) = (mean(|p| p[0]), mean(|p| p[1]), mean(|p| p[2]));
    let (mut xx, mut xy, mut yy, mut xz, mut yz, mut zz) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0);
    for [x, y, z] in points {
        let (x, y, z) = (x - mx, y - my, z - mz);
        xx += x * x;
        xy += x * y;
        yy += y * y;
        xz += x * z;
        yz += y * z;
        zz += z * z;
    }
    let determinant = xx * yy - xy * xy;
    if determinant.abs() < f64::EPSILON || zz < f64::EPSILON {
        return None;
    }
    let slopes = [
        (xz * yy - yz * xy) / determinant,
        (yz * xx - xz * xy) / determinant,
    ];
    Some(Fit {
        base: mz - slopes[0] * mx - slopes[1] * my,
        slopes,
        r2: (slopes[0] * xz + slopes[1] * yz) / zz,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::fit;

    #[test]
    fn a_plane_is_found_exactly_and_noise_lowers_the_share() {
        let plane = |noise: f64| -> Vec<[f64; 3]> {
            let point = |i: i32| {
                let (x, y) = (f64::from(i % 5), f64::from(i / 5));
                let off = if i % 2 == 0 { noise } else { -noise };
                [x, y, 3.0 + 2.0 * x - 0.5 * y + off]
            };
            (0..25).map(point).collect()
        };
        let exact = fit(&plane(0.0)).unwrap();
        assert!((exact.base - 3.0).abs() < 1e-9);
        assert!((exact.slopes[0] - 2.0).abs() < 1e-9 && (exact.slopes[1] + 0.5).abs() < 1e-9);
        assert!((exact.r2 - 1.0).abs() < 1e-9);
        let noisy = fit(&plane(1.0)).unwrap();
        assert!(noisy.r2 < 0.95 && noisy.r2 > 0.5, "{noisy:?}");
        assert!(fit(&[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]]).is_none());
    }
}
