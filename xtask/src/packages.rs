//! Tools that a test needs and a fresh machine may lack.
//!
//! Debian packages go into the system; Python and Node packages go under `target/tools`,
//! where they disturb nobody and `cargo clean` removes them.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What the tests need beyond Rust. Nothing yet; add a name here when a test wants it.
pub const NEEDED_BY_TESTS: &[Package] = &[];

/// A package by name and source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Package<'a> {
    /// From Debian (or Ubuntu), with `apt-get`.
    Debian(&'a str),
    /// From Python, with `pip`, into `target/tools/python`.
    Python(&'a str),
    /// From Node, with `npm`, into `target/tools/node`.
    Node(&'a str),
}

impl<'a> Package<'a> {
    /// Reads `apt:NAME`, `pip:NAME` or `npm:NAME`.
    fn parse(text: &'a str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("apt", name)) if !name.is_empty() => Ok(Package::Debian(name)),
            Some(("pip", name)) if !name.is_empty() => Ok(Package::Python(name)),
            Some(("npm", name)) if !name.is_empty() => Ok(Package::Node(name)),
            _ => Err(format!("`{text}` is not apt:NAME, pip:NAME or npm:NAME")),
        }
    }

    fn is_installed(self) -> bool {
        match self {
            Package::Debian(name) => {
                let mut query = Command::new("dpkg-query");
                query.args(["--show", "--showformat=${db:Status-Status}", name]);
                query
                    .stderr(Stdio::null())
                    .output()
                    .is_ok_and(|out| out.stdout == b"installed")
            }
            Package::Python(name) => quiet(python_tools().join("bin/pip"), &["show", name]),
            Package::Node(name) => node_tools().join("node_modules").join(name).exists(),
        }
    }

    fn install(self) -> Result<(), String> {
        match self {
            Package::Debian(name) => install_debian(name),
            Package::Python(name) => {
                let pip = python_tools().join("bin/pip");
                if !pip.exists() {
                    ensure_packages(&[Package::Debian("python3-venv")])?;
                    let folder = python_tools();
                    loud(
                        "python3",
                        [OsStr::new("-m"), OsStr::new("venv"), folder.as_os_str()],
                    )?;
                }
                loud(pip, ["install", name])
            }
            Package::Node(name) => {
                if !quiet("npm", &["--version"]) {
                    ensure_packages(&[Package::Debian("npm")])?;
                }
                let folder = node_tools();
                std::fs::create_dir_all(&folder)
                    .map_err(|e| format!("cannot make {}: {e}", folder.display()))?;
                let prefix = [
                    OsStr::new("install"),
                    OsStr::new("--prefix"),
                    folder.as_os_str(),
                ];
                loud("npm", prefix.into_iter().chain([OsStr::new(name)]))
            }
        }
    }
}

/// Installs those packages that are missing.
pub fn ensure_packages(packages: &[Package<'_>]) -> Result<(), String> {
    for package in packages {
        if !package.is_installed() {
            println!("installing {package:?}");
            package.install()?;
        }
    }
    Ok(())
}

/// `cargo xtask install apt:NAME pip:NAME npm:NAME`.
pub fn install_named(names: &[String]) -> Result<(), String> {
    let packages: Vec<_> = names
        .iter()
        .map(|n| Package::parse(n))
        .collect::<Result<_, _>>()?;
    if packages.is_empty() {
        return Err("name at least one package, such as apt:valgrind".into());
    }
    ensure_packages(&packages)?;
    println!("installed: {}", names.join(" "));
    Ok(())
}

fn install_debian(name: &str) -> Result<(), String> {
    let apt = |args: &[&str]| {
        // Without a terminal, a package's questions would wait for ever.
        let quiet_apt = [
            "env",
            "DEBIAN_FRONTEND=noninteractive",
            "apt-get",
            "--quiet",
            "--yes",
        ];
        let sudo = if is_root() { None } else { Some("sudo") };
        let mut words = sudo
            .into_iter()
            .chain(quiet_apt)
            .chain(args.iter().copied());
        let program = words.next().unwrap_or("apt-get");
        loud(program, words)
    };
    let install = ["install", "--no-install-recommends", name];
    // The package list of a fresh machine is empty or old: fetch it only if that shows.
    apt(&install).or_else(|_| apt(&["update"]).and_then(|()| apt(&install)))
}

fn is_root() -> bool {
    Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|out| out.stdout.trim_ascii() == b"0")
}

fn python_tools() -> PathBuf {
    crate::root().join("target/tools/python")
}

fn node_tools() -> PathBuf {
    crate::root().join("target/tools/node")
}

/// Whether a command runs and succeeds, its output thrown away.
fn quiet(program: impl AsRef<OsStr>, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    command
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Runs a command in front of the user.
fn loud<S: AsRef<OsStr>>(
    program: impl AsRef<OsStr>,
    args: impl IntoIterator<Item = S>,
) -> Result<(), String> {
    let program = program.as_ref();
    let name = program.display();
    match Command::new(program).args(args).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name} ended with {status}")),
        Err(error) => Err(format!("cannot start {name}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_named_by_source() {
        assert_eq!(
            Package::parse("apt:valgrind"),
            Ok(Package::Debian("valgrind"))
        );
        assert_eq!(Package::parse("pip:numpy"), Ok(Package::Python("numpy")));
        assert_eq!(Package::parse("npm:three"), Ok(Package::Node("three")));
        assert!(Package::parse("numpy").is_err());
        assert!(Package::parse("pip:").is_err());
    }

    #[test]
    fn an_empty_list_needs_nothing() {
        assert_eq!(ensure_packages(&[]), Ok(()));
    }

    #[test]
    fn a_package_that_does_not_exist_is_not_installed() {
        assert!(!Package::Debian("no-such-package-as-this").is_installed());
        assert!(!Package::Node("no-such-package-as-this").is_installed());
    }
}
