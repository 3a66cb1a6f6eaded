//! The tables of settings: `[simulation]`, `[pressure]`, `[output]`, `[render]`.

use plash_liquid::{
    Cycle, Method, MethodOptions, MgOptions, PressureConfig, PressureMethod, Scheme, SubSolver,
    SurfaceMethod, Transfer,
};

use super::{OutputOptions, RenderOptions};
use crate::diagnostics::Diagnostic;
use crate::file::reader::{Fields, Item, Sink};

/// Transfers, surfaces and cycles by name, and methods that are planned.
const TRANSFERS: [(&str, Kind); 3] = [
    ("flip", Kind::Flip),
    ("pic", Kind::Pic),
    ("apic", Kind::Apic),
];
const SURFACES: [(&str, SurfaceMethod); 3] = [
    ("union", SurfaceMethod::Union),
    ("zhu-bridson", SurfaceMethod::ZhuBridson),
    ("marker", SurfaceMethod::Marker),
];
const PLANNED_METHODS: [&str; 1] = ["reduced"];
const CYCLES: [(&str, Cycle); 2] = [("v", Cycle::V), ("full", Cycle::Full)];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Flip,
    Pic,
    Apic,
}

/// What the liquid of a scene does.
#[derive(Clone, Copy)]
pub(crate) struct Uses {
    /// Whether any wall lets liquid go.
    pub(crate) separation: bool,
    /// Whether any liquid is viscous.
    pub(crate) viscosity: bool,
}

/// The fields of a table of settings, if it is there.
pub(super) fn section<'a>(top: &mut Fields<'a>, name: &'static str) -> Option<Fields<'a>> {
    top.get(name)?
        .fields(&format!("a table of settings, [{name}]"))
}

/// Reads a setting, or gives its default.
pub(super) fn or<'a, T>(
    fields: &mut Fields<'a>,
    key: &'static str,
    default: T,
    read: impl Fn(&Item<'a>) -> Option<T>,
) -> T {
    fields
        .get(key)
        .and_then(|item| read(&item))
        .unwrap_or(default)
}

/// Tells that a setting has no effect beside another.
pub(super) fn unused(item: Option<Item<'_>>, only: &str, sink: &Sink) {
    if let Some(item) = item {
        let message = format!("has no effect: only {only} uses it");
        sink.push(Diagnostic::warning(item.key_origin(), item.key(), message));
    }
}

/// Reads `[simulation]` and `[pressure]`.
pub(crate) fn scheme(top: &mut Fields<'_>, uses: Uses, sink: &Sink) -> Scheme {
    // FLIP keeps on particles what is finer than the grid, and viscosity acts on the grid alone:
    // thick liquid would go on trembling. APIC keeps nothing that the grid does not see.
    let usual = if uses.viscosity {
        Transfer::Apic
    } else {
        Scheme::default().transfer
    };
    let mut scheme = Scheme {
        transfer: usual,
        ..Scheme::default()
    };
    if let Some(mut fields) = section(top, "simulation") {
        scheme.transfer = transfer(&mut fields, usual, sink);
        scheme.surface = or(&mut fields, "surface", scheme.surface, |v| {
            v.choice(&SURFACES, &[])
        });
        scheme.cfl = or(&mut fields, "cfl", scheme.cfl, |v| v.number_in(0.1..=10.0));
        scheme.seed = or(&mut fields, "seed", scheme.seed, |v| {
            v.whole(0..=i64::MAX as u64)
        });
        scheme.reseed = or(&mut fields, "reseed", scheme.reseed, Item::flag);
        let correct = scheme.density_correction;
        scheme.density_correction = or(&mut fields, "density-correction", correct, Item::flag);
        fields.finish();
    }
    if let Some(mut fields) = section(top, "pressure") {
        scheme.pressure = pressure(&mut fields, uses.separation, sink);
        fields.finish();
    }
    scheme
}

fn transfer(fields: &mut Fields<'_>, usual: Transfer, sink: &Sink) -> Transfer {
    let kind = fields.get("transfer").map(|v| v.choice(&TRANSFERS, &[]));
    let blend = fields.get("pic-blend");
    // Whoever says how much PIC there is to be in FLIP means FLIP.
    if kind.is_none() && blend.is_none() {
        return usual;
    }
    let kind = kind.flatten().unwrap_or(Kind::Flip);
    if kind != Kind::Flip {
        unused(blend, "transfer \"flip\"", sink);
        return if kind == Kind::Pic {
            Transfer::Pic
        } else {
            Transfer::Apic
        };
    }
    let pic_blend = blend.and_then(|v| v.number_in(0.0..=1.0)).unwrap_or(0.03);
    Transfer::Flip { pic_blend }
}

fn pressure(fields: &mut Fields<'_>, separating: bool, sink: &Sink) -> PressureConfig {
    let default = PressureConfig::default();
    let item = fields.get("method");
    // `None` stands for `mg`, which is not one of the solver library.
    let mut names: Vec<(&str, Option<Method>)> = Method::ALL
        .iter()
        .map(|method| (method.as_str(), Some(*method)))
        .collect();
    names.push(("mg", None));
    let chosen = item
        .as_ref()
        .and_then(|v| v.choice(&names, &PLANNED_METHODS))
        .unwrap_or(Some(Method::Auto));
    let method = match chosen {
        Some(method) => {
            for key in ["cycle", "sweeps", "full-cycles"] {
                unused(fields.get(key), "method \"mg\"", sink);
            }
            PressureMethod::Solver(method)
        }
        None => PressureMethod::Mg(multigrid(fields)),
    };
    if let Some(item) = item
        && separating
        && method.is_linear()
    {
        let name = method.name();
        let message = format!("`{name}` is linear: liquid will stick to all walls");
        let help = "choose another method, or say so by `walls = \"slip\"` at the top";
        sink.push(Diagnostic::warning(item.origin(), item.key(), message).help(help));
    }
    let many = |v: &Item<'_>| v.whole(1..=1_000_000).map(|n| n as usize);
    PressureConfig {
        options: MethodOptions {
            sub_solver: sub_solver(fields, chosen, sink),
            ..default.options
        },
        method,
        tolerance: or(fields, "tolerance", default.tolerance, |v| {
            v.number_in(1e-14..=0.1)
        }),
        max_iterations: or(fields, "max-iterations", default.max_iterations, many),
    }
}

fn sub_solver(fields: &mut Fields<'_>, method: Option<Method>, sink: &Sink) -> SubSolver {
    let item = fields.get("sub-solver");
    if method != Some(Method::Newton) {
        unused(item, "method \"newton\"", sink);
        return SubSolver::default();
    }
    let names = SubSolver::ALL.map(|solver| (solver.as_str(), solver));
    let chosen = item.and_then(|v| v.choice(&names, &[]));
    chosen.unwrap_or_default()
}

fn multigrid(fields: &mut Fields<'_>) -> MgOptions {
    let default = MgOptions::default();
    let count = |least: u64| move |v: &Item<'_>| v.whole(least..=100).map(|n| n as usize);
    MgOptions {
        cycle: or(fields, "cycle", default.cycle, |v| v.choice(&CYCLES, &[])),
        sweeps: or(fields, "sweeps", default.sweeps, count(1)),
        full_cycles: or(fields, "full-cycles", default.full_cycles, count(0)),
    }
}

/// Reads `[output]`.
pub(crate) fn output(top: &mut Fields<'_>) -> OutputOptions {
    let default = OutputOptions::default();
    let Some(mut fields) = section(top, "output") else {
        return default;
    };
    let output = OutputOptions {
        particles: or(&mut fields, "particles", default.particles, Item::flag),
        surface: or(&mut fields, "surface", default.surface, Item::flag),
        cache: or(&mut fields, "cache", default.cache, Item::flag),
        images: or(&mut fields, "images", default.images, Item::flag),
    };
    fields.finish();
    output
}

/// Reads `[render]`.
pub(crate) fn render(top: &mut Fields<'_>, dimension: usize, sink: &Sink) -> RenderOptions {
    let default = RenderOptions::default();
    let Some(mut fields) = section(top, "render") else {
        return default;
    };
    let size = or(&mut fields, "size", default.size, pixels);
    let color = fields.get("color").and_then(|v| color(&v));
    let mut render = RenderOptions {
        size,
        color,
        ..default
    };
    if dimension == 2 {
        for key in ["eye", "target", "fov", "opacity"] {
            unused(fields.get(key), "a scene in 3D", sink);
        }
    } else {
        let eye = fields.get("eye");
        render.eye = eye.as_ref().and_then(Item::vector);
        render.target = fields.get("target").and_then(|v| v.vector());
        render.fov = or(&mut fields, "fov", default.fov, |v| {
            v.number_in(1.0..=170.0)
        });
        render.opacity = or(&mut fields, "opacity", default.opacity, |v| {
            v.number_in(0.0..=1.0)
        });
        if let (Some(item), Some(eye), Some(target)) = (eye, render.eye, render.target)
            && eye == target
        {
            let _: Option<()> = item.fail("the camera stands on what it looks at", "move `eye`");
        }
    }
    fields.finish();
    render
}

/// Red, green and blue, as pictures store them.
fn color(item: &Item<'_>) -> Option<[u8; 3]> {
    let parts = item.vector::<3>()?;
    let fits = |v: &f64| v.fract() == 0.0 && (0.0..=255.0).contains(v);
    if !parts.iter().all(fits) {
        return item.fail(
            "not a colour",
            "use red, green and blue as whole numbers from 0 to 255, as [222, 138, 16]",
        );
    }
    Some(parts.map(|v| v as u8))
}

/// Width and height in pixels, even as video needs them.
fn pixels(item: &Item<'_>) -> Option<[u32; 2]> {
    let [width, height] = item.vector::<2>()?;
    let fits = |v: f64| v.fract() == 0.0 && v % 2.0 == 0.0 && (16.0..=16384.0).contains(&v);
    if !(fits(width) && fits(height)) {
        let message = format!("pictures cannot have {width} × {height} pixels");
        return item.fail(
            message,
            "use even whole numbers from 16 to 16384, as [1280, 720]",
        );
    }
    Some([width as u32, height as u32])
}
