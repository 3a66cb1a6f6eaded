//! Facts about distances and bounds, for both dimensions by one body of code.

use super::vector::{along, length, sub};
use super::{Rotation, Shape};

/// A repeatable number in [0, 1) per index.
fn uniform(index: u64) -> f64 {
    let mut z = index
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(0x1234_5678);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Points spread over [−2, 2]^D.
fn points<const D: usize>(count: u64) -> impl Iterator<Item = [f64; D]> {
    (0..count).map(|k| std::array::from_fn(|a| 4.0 * uniform(k * D as u64 + a as u64) - 2.0))
}

/// The first D of three coordinates.
fn v<const D: usize>(full: [f64; 3]) -> [f64; D] {
    std::array::from_fn(|a| full[a])
}

trait SomeTurn: Sized {
    fn some_turn() -> Self;
    fn quarter_turn() -> Self;
}

impl SomeTurn for Rotation<2> {
    fn some_turn() -> Self {
        Self::degrees(33.0)
    }
    fn quarter_turn() -> Self {
        Self::degrees(90.0)
    }
}

impl SomeTurn for Rotation<3> {
    fn some_turn() -> Self {
        Self::axis_degrees([1.0, -2.0, 0.5], 33.0)
    }
    fn quarter_turn() -> Self {
        Self::axis_degrees([0.0, 0.0, 3.0], 90.0)
    }
}

fn primitives<const D: usize>() -> Vec<(&'static str, Shape<D>)> {
    vec![
        (
            "sphere",
            Shape::Sphere {
                center: v([0.1, -0.2, 0.3]),
                radius: 0.7,
            },
        ),
        (
            "box",
            Shape::Box {
                min: v([-0.5, -1.0, -0.2]),
                max: v([0.8, 0.3, 0.9]),
            },
        ),
        (
            "capsule",
            Shape::Capsule {
                from: v([-0.5, -0.4, 0.1]),
                to: v([0.6, 0.8, -0.3]),
                radius: 0.35,
            },
        ),
        (
            "cylinder",
            Shape::Cylinder {
                from: v([-0.5, -0.4, 0.1]),
                to: v([0.6, 0.8, -0.3]),
                radius: 0.35,
            },
        ),
        (
            "ellipsoid",
            Shape::Ellipsoid {
                center: v([0.2, 0.1, -0.1]),
                radii: v([1.1, 0.3, 0.6]),
            },
        ),
        (
            "torus",
            Shape::Torus {
                center: v([0.1, 0.0, 0.1]),
                axis: v([0.3, 2.0, -0.4]),
                major: 0.9,
                minor: 0.3,
            },
        ),
        (
            "plane",
            Shape::Plane {
                point: v([0.1, 0.2, 0.3]),
                normal: v([1.0, 2.0, -0.5]),
            },
        ),
    ]
}

fn combinations<const D: usize>() -> Vec<(&'static str, Shape<D>)>
where
    Rotation<D>: SomeTurn,
{
    let parts = || primitives().into_iter().map(|(_, shape)| shape);
    let first = |n: usize| Box::new(parts().nth(n).expect("a primitive"));
    vec![
        ("union", Shape::Union(parts().take(5).collect())),
        ("intersect", Shape::Intersect(parts().take(4).collect())),
        (
            "subtract",
            Shape::Subtract(first(1), vec![*first(0), *first(3)]),
        ),
        (
            "shell",
            Shape::Shell {
                shape: first(1),
                thickness: 0.2,
            },
        ),
        (
            "round intersect",
            Shape::Round {
                shape: Box::new(Shape::Intersect(vec![*first(1), *first(3)])),
                radius: 0.3,
            },
        ),
        (
            "translate",
            Shape::Translate {
                shape: first(4),
                by: v([0.3, -0.2, 0.5]),
            },
        ),
        (
            "rotate",
            Shape::Rotate {
                shape: first(1),
                rotation: Rotation::some_turn(),
                about: v([0.1, 0.2, 0.3]),
            },
        ),
        (
            "scale",
            Shape::Scale {
                shape: first(5),
                factor: 0.6,
                about: v([0.5, 0.0, -0.5]),
            },
        ),
    ]
}

fn everything<const D: usize>() -> Vec<(&'static str, Shape<D>)>
where
    Rotation<D>: SomeTurn,
{
    [primitives(), combinations()].concat()
}

/// The gradient has unit length wherever the nearest part is unique; kinks are a thin set, so
/// only a few per cent of random points may be near one.
fn gradient_has_unit_length_almost_everywhere<const D: usize>()
where
    Rotation<D>: SomeTurn,
{
    let (h, count) = (1e-6, 2000);
    for (name, shape) in everything::<D>() {
        let odd = points::<D>(count)
            .filter(|&x| {
                let gradient: [f64; D] = std::array::from_fn(|a| {
                    let step: [f64; D] = std::array::from_fn(|b| if a == b { h } else { 0.0 });
                    (shape.distance(along(x, step, 1.0)) - shape.distance(along(x, step, -1.0)))
                        / (2.0 * h)
                });
                (length(gradient) - 1.0).abs() > 1e-5
            })
            .count();
        assert!(odd <= 4, "{name}: {odd} of {count} gradients are not unit");
    }
}

fn distance_never_changes_faster_than_the_point_moves<const D: usize>()
where
    Rotation<D>: SomeTurn,
{
    for (name, shape) in everything::<D>() {
        for (x, y) in points::<D>(1000).zip(points::<D>(2000).skip(1000)) {
            let change = (shape.distance(x) - shape.distance(y)).abs();
            assert!(
                change <= length(sub(x, y)) + 1e-12,
                "{name} at {x:?}, {y:?}"
            );
        }
    }
}

/// Exactness of the primitives: walking by −d along the gradient lands on the surface.
fn primitives_measure_the_distance_to_their_surface<const D: usize>() {
    let h = 1e-6;
    for (name, shape) in primitives::<D>() {
        let mut off = 0;
        for x in points::<D>(2000) {
            let d = shape.distance(x);
            let gradient: [f64; D] = std::array::from_fn(|a| {
                let step: [f64; D] = std::array::from_fn(|b| if a == b { h } else { 0.0 });
                (shape.distance(along(x, step, 1.0)) - shape.distance(along(x, step, -1.0)))
                    / (2.0 * h)
            });
            off += usize::from(shape.distance(along(x, gradient, -d)).abs() > 1e-6);
        }
        assert!(off <= 4, "{name}: {off} of 2000 walks miss the surface");
    }
}

fn bounds_hold_every_inside_point_and_are_touched<const D: usize>()
where
    Rotation<D>: SomeTurn,
{
    for (name, shape) in everything::<D>() {
        let Some([min, max]) = shape.bounds() else {
            assert_eq!(name, "plane");
            continue;
        };
        let mut inside = 0;
        for x in points::<D>(20_000) {
            if shape.contains(x) {
                inside += 1;
                for a in 0..D {
                    assert!(
                        min[a] <= x[a] && x[a] <= max[a],
                        "{name}: {x:?} leaves the bounds"
                    );
                }
            }
        }
        assert!(inside > 10, "{name}: only {inside} points inside");
    }
}

/// Scanning each face of the box of a primitive finds the shape within a small distance.
fn bounds_of_primitives_are_tight<const D: usize>() {
    for (name, shape) in primitives::<D>() {
        let Some([min, max]) = shape.bounds() else {
            continue;
        };
        for a in 0..D {
            for face in [min[a], max[a]] {
                let nearest = points::<D>(40_000)
                    .map(|mut x| {
                        for b in 0..D {
                            x[b] = min[b] + (max[b] - min[b]) * (x[b] + 2.0) / 4.0;
                        }
                        x[a] = face;
                        shape.distance(x)
                    })
                    .fold(f64::INFINITY, f64::min);
                assert!(nearest.abs() < 5e-3, "{name}, axis {a}: gap {nearest}");
            }
        }
    }
}

fn transformations_compose<const D: usize>()
where
    Rotation<D>: SomeTurn,
{
    let turn = Rotation::<D>::some_turn();
    let (about, by): ([f64; D], [f64; D]) = (v([0.3, -0.1, 0.2]), v([-0.2, 0.4, 0.1]));
    for (name, shape) in everything::<D>() {
        let moved = Shape::Translate {
            shape: Box::new(Shape::Rotate {
                shape: Box::new(Shape::Scale {
                    shape: Box::new(shape.clone()),
                    factor: 1.7,
                    about,
                }),
                rotation: turn,
                about,
            }),
            by,
        };
        for x in points::<D>(300) {
            // Carry the point along by hand: scale, turn, move.
            let image = along(about, turn.apply(sub(x, about)), 1.7);
            let image = along(image, by, 1.0);
            let (expected, found) = (1.7 * shape.distance(x), moved.distance(image));
            assert!(
                (expected - found).abs() < 1e-12,
                "{name}: {expected} {found}"
            );
        }
    }
}

fn turns_compose_and_undo<const D: usize>()
where
    Rotation<D>: SomeTurn,
{
    let (a, b) = (Rotation::<D>::some_turn(), Rotation::<D>::quarter_turn());
    for x in points::<D>(50) {
        let (one, two) = (a.then(&b).apply(x), b.apply(a.apply(x)));
        assert!(length(sub(one, two)) < 1e-14);
        assert!(length(sub(a.undo(a.apply(x)), x)) < 1e-14);
    }
    assert_eq!(b.apply(v([1.0, 0.0, 0.0])), v::<D>([0.0, 1.0, 0.0]));
    assert_eq!(b.apply(v([0.0, 1.0, 0.0])), v::<D>([-1.0, 0.0, 0.0]));
}

macro_rules! in_both_dimensions {
    ($($two:ident, $three:ident => $fact:ident;)*) => {
        $(#[test] fn $two() { $fact::<2>(); }
          #[test] fn $three() { $fact::<3>(); })*
    };
}

in_both_dimensions! {
    unit_gradients_2d, unit_gradients_3d => gradient_has_unit_length_almost_everywhere;
    lipschitz_2d, lipschitz_3d => distance_never_changes_faster_than_the_point_moves;
    exact_primitives_2d, exact_primitives_3d => primitives_measure_the_distance_to_their_surface;
    bounds_hold_2d, bounds_hold_3d => bounds_hold_every_inside_point_and_are_touched;
    tight_bounds_2d, tight_bounds_3d => bounds_of_primitives_are_tight;
    compose_2d, compose_3d => transformations_compose;
    turns_2d, turns_3d => turns_compose_and_undo;
}

#[test]
fn known_distances_in_3d() {
    let near = |shape: &Shape<3>, x: [f64; 3], expected: f64| {
        let found = shape.distance(x);
        assert!(
            (found - expected).abs() < 1e-14,
            "{shape:?} at {x:?}: {found}"
        );
    };
    let cube = Shape::Box {
        min: [0.0; 3],
        max: [2.0; 3],
    };
    near(&cube, [1.0; 3], -1.0);
    near(&cube, [3.0, 3.0, 1.0], 2.0_f64.sqrt());
    near(&cube, [1.0, 1.75, 1.0], -0.25);
    let rod = Shape::Cylinder {
        from: [0.0, -1.0, 0.0],
        to: [0.0, 1.0, 0.0],
        radius: 0.5,
    };
    near(&rod, [3.5, 5.0, 0.0], 5.0);
    near(&rod, [0.0, 0.9, 0.0], -0.1);
    let ring = Shape::Torus {
        center: [0.0; 3],
        axis: [0.0, 5.0, 0.0],
        major: 2.0,
        minor: 0.5,
    };
    near(&ring, [0.0; 3], 1.5);
    near(&ring, [0.0, 0.0, 2.0], -0.5);
    let floor = Shape::Plane {
        point: [0.0, 1.0, 0.0],
        normal: [0.0, 4.0, 0.0],
    };
    near(&floor, [7.0, 0.25, 3.0], -0.75);
    let skin = Shape::Shell {
        shape: Box::new(cube),
        thickness: 0.2,
    };
    near(&skin, [1.0; 3], 0.9);
    near(&skin, [1.0, 1.0, 2.0], -0.1);
}

#[test]
fn ellipsoid_distances_on_its_axes_and_evolute() {
    let egg = Shape::Ellipsoid {
        center: [0.0, 0.0],
        radii: [2.0, 1.0],
    };
    assert_eq!(egg.distance([0.0, 0.0]), -1.0);
    assert_eq!(egg.distance([0.0, 3.0]), 2.0);
    assert_eq!(egg.distance([5.0, 0.0]), 3.0);
    // From (x, 0) with x below the evolute's cusp, (a² − b²)/a = 1.5, the nearest point lies off
    // the long axis: d² = b²(1 − x²/(a² − b²)).
    let d = egg.distance([1.0, 0.0]);
    assert!((d + (1.0_f64 - 1.0 / 3.0).sqrt()).abs() < 1e-14, "{d}");
    // Beyond the cusp the tip itself is nearest.
    assert!((egg.distance([1.8, 0.0]) + 0.2).abs() < 1e-14);
}

#[test]
fn an_ellipsoid_with_equal_axes_is_a_sphere() {
    let egg = Shape::Ellipsoid {
        center: [0.1; 3],
        radii: [0.7; 3],
    };
    let ball = Shape::Sphere {
        center: [0.1; 3],
        radius: 0.7,
    };
    for x in points::<3>(500).chain([[0.1; 3]]) {
        assert!((egg.distance(x) - ball.distance(x)).abs() < 1e-14);
    }
}

#[test]
fn extreme_ellipsoids_stay_finite() {
    let flat = Shape::Ellipsoid {
        center: [0.0; 3],
        radii: [1.0, 1e-9, 1e3],
    };
    for x in points::<3>(500).chain([[0.0; 3], [1e-300, 0.0, 0.0], [0.0, 1e-300, 1e150]]) {
        assert!(!flat.distance(x).is_nan(), "{x:?}");
    }
}

#[test]
fn a_torus_in_2d_is_two_discs() {
    let ring = Shape::Torus {
        center: [0.0, 0.0],
        axis: [0.0, 1.0],
        major: 1.0,
        minor: 0.25,
    };
    let discs = Shape::Union(vec![
        Shape::Sphere {
            center: [-1.0, 0.0],
            radius: 0.25,
        },
        Shape::Sphere {
            center: [1.0, 0.0],
            radius: 0.25,
        },
    ]);
    for x in points::<2>(500) {
        assert!((ring.distance(x) - discs.distance(x)).abs() < 1e-14);
    }
}

#[test]
fn axis_aligned_planes_bound_an_intersection() {
    let below = |normal: [f64; 3]| Shape::Plane {
        point: [0.5; 3],
        normal,
    };
    let slab = Shape::Intersect(vec![
        Shape::Box {
            min: [0.0; 3],
            max: [1.0; 3],
        },
        below([0.0, 1.0, 0.0]),
    ]);
    assert_eq!(slab.bounds(), Some([[0.0; 3], [1.0, 0.5, 1.0]]));
    assert_eq!(below([0.0, 1.0, 0.0]).bounds(), None);
}

#[test]
fn a_shape_may_end_along_one_axis_alone() {
    let behind = |x: f64, normal: f64| Shape::Plane {
        point: [x, 0.0, 0.0],
        normal: [normal, 0.0, 0.0],
    };
    let slab = Shape::Intersect(vec![behind(0.2, -1.0), behind(0.8, 1.0)]);
    let ends = [0, 1, 2].map(|axis| slab.bounds_along(axis));
    assert_eq!(ends, [Some([0.2, 0.8]), None, None]);
    assert_eq!(slab.bounds(), None);
    assert_eq!(behind(0.8, 1.0).bounds_along(0), None);
    // Of nothing all ends are one, along every axis.
    let nothing = Shape::Intersect(vec![behind(0.2, 1.0), behind(0.8, -1.0)]);
    let ends = [0, 1].map(|axis| nothing.bounds_along(axis));
    assert_eq!(ends, [Some([0.8; 2]), Some([0.0; 2])]);
}

#[test]
fn a_quarter_turn_keeps_bounds_tight_and_exact() {
    let turned = Shape::Rotate {
        shape: Box::new(Shape::Box {
            min: [0.0, 0.0],
            max: [2.0, 1.0],
        }),
        rotation: Rotation::<2>::degrees(90.0),
        about: [0.0, 0.0],
    };
    assert_eq!(turned.bounds(), Some([[-1.0, 0.0], [0.0, 2.0]]));
}

#[test]
fn directionless_and_empty_shapes_are_not_nan() {
    let shapes = [
        Shape::Cylinder {
            from: [0.5; 3],
            to: [0.5; 3],
            radius: 0.1,
        },
        Shape::Capsule {
            from: [0.5; 3],
            to: [0.5; 3],
            radius: 0.1,
        },
        Shape::Plane {
            point: [0.0; 3],
            normal: [0.0; 3],
        },
        Shape::Union(vec![]),
        Shape::Intersect(vec![]),
    ];
    for shape in shapes {
        assert!(!shape.distance([0.2, 0.3, 0.4]).is_nan(), "{shape:?}");
        let _ = shape.bounds();
    }
    assert_eq!(Shape::<2>::Union(vec![]).distance([0.0; 2]), f64::INFINITY);
}
