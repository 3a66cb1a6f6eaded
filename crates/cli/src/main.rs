//! The `plash` program: see the library for all of it.

fn main() -> std::process::ExitCode {
    plash::main()
}
