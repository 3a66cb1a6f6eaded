"""Runs plash, PETSc and Eigen on the same systems, checks the solutions, prints the ratios.

compare.py --plash PROGRAM --eigen PROGRAM --work DIR --runs DIR [--output DIR] --commit NAME
           [--tol T] [--ball N]... [PROBLEM.npz]...

`cargo xtask peers` installs, builds and calls all this. Every solution is judged here, by the
same lines, in f64: the largest residual relative to the largest entry of the right-hand side
must be within the tolerance, and the solution must agree with that of plash. Seconds are set-up
plus solve, the best of three where a solve is short; reading and conversion are given apart.
What was found goes to --output, or to DATE-MACHINE under --runs.
"""

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys

import numpy as np

from systems import System, half_ball

HERE = os.path.dirname(os.path.abspath(__file__))
THREADS = [2, 1]
# Unknowns up to which a solve is short enough to be run three times.
SHORT = 4_000_000
# How far solutions that meet the tolerance may differ, relative to the largest entry.
AGREEMENT = 1e-4
# What each program is asked for, by problem.
METHODS = {
    "linear": {
        "plash": ["mgpcg", "pcg-mic"],
        "petsc": ["cg-hypre", "cg-icc"],
        "eigen": ["cg-ic", "cg-diagonal"],
    },
    "separating": {
        "plash": ["auto", "pi-pcg"],
        "petsc": ["vi-icc"],
        "eigen": ["pi-ic", "pi-diagonal"],
    },
    "viscosity": {
        "plash": ["mgpcg", "pcg-ic"],
        "petsc": ["cg-icc"],
        "eigen": ["cg-ic", "cg-diagonal"],
    },
}
# The problems that a system of a kind poses.
PROBLEMS = {"pressure": ["linear", "separating"], "viscosity": ["viscosity"]}
# What everything else is measured by.
OURS = {
    "linear": ("plash", "mgpcg"),
    "separating": ("plash", "auto"),
    "viscosity": ("plash", "mgpcg"),
}
# The peers whose ratio the summary gives.
RIVALS = [
    ("linear", "petsc", "cg-hypre"),
    ("separating", "petsc", "vi-icc"),
    ("viscosity", "petsc", "cg-icc"),
]


class Bench:
    """The programs, and where they work."""

    def __init__(self, args):
        self.args = args
        self.mpi = self.mpi_works()

    def path(self, name):
        return os.path.join(self.args.work, name)

    @staticmethod
    def environment(threads):
        # Open MPI refuses root unless told twice; a machine for measurements is often that.
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        quiet = {"PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"}
        return {**os.environ, **root, **quiet, "OMP_NUM_THREADS": str(threads)}

    def threads(self, program):
        return THREADS if self.mpi or program != "petsc" else [1]

    def mpi_works(self):
        command = ["mpiexec", "-n", "2", sys.executable, "-c", "pass"]
        try:
            return subprocess.run(command, env=self.environment(1), timeout=60).returncode == 0
        except (OSError, subprocess.TimeoutExpired):
            return False

    def run(self, command, threads):
        """The figures that a program prints as JSON, or an explanation."""
        environment = self.environment(threads)
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        start = done.stdout.find("{")
        if done.returncode != 0 or start < 0:
            last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
            return {"failed": f"exit code {done.returncode}: {last}"}
        return json.loads(done.stdout[start:])

    def plash(self, method, threads, repeats):
        result = self.path("x.npz")
        command = [self.args.plash, "solve", self.path("system.npz"), "--method", method]
        command += ["--tol", str(self.args.tol), "-t", str(threads), "--json", "-o", result]
        runs = []
        for _ in range(repeats):
            figures = self.run(command, threads)
            if "failed" in figures:
                return figures, None
            runs.append(figures)
        best = min(runs, key=seconds)
        # An automatic choice says what it chose.
        best["chose"] = best.get("method")
        return best, np.load(result)["x"]

    def petsc(self, method, threads, repeats):
        result = self.path("x.npz")
        command = [sys.executable, os.path.join(HERE, "petsc_solve.py"), self.path("system.npz")]
        command += [method, str(self.args.tol), str(repeats), result]
        if threads > 1:
            command = ["mpiexec", "-n", str(threads)] + command
        figures = self.run(command, 1)
        return figures, None if "failed" in figures else np.load(result)["x"]

    def eigen(self, method, threads, repeats):
        result = self.path("x.raw")
        command = [self.args.eigen, self.path("system.raw"), method, str(self.args.tol)]
        figures = self.run(command + [str(repeats), result], threads)
        return figures, None if "failed" in figures else np.fromfile(result)

    def compare(self, name, system):
        """All programs on one system: rows of figures, ours first."""
        system, dropped = system.without_pockets()
        system.write(self.path("system.npz"))
        system.write_raw(self.path("system.raw"))
        repeats = 3 if system.rhs.size <= SHORT else 1
        print(f"\n{name}: {system.rhs.size} unknowns, {system.walls.size} at walls", flush=True)
        rows = []
        for problem in PROBLEMS[system.kind]:
            ours = None
            for program, methods in METHODS[problem].items():
                for method in methods:
                    for threads in self.threads(program):
                        figures, x = getattr(self, program)(method, threads, repeats)
                        figures.pop("method", None)
                        row = {
                            "system": name,
                            "unknowns": int(system.rhs.size),
                            "wall_unknowns": int(system.walls.size),
                            "pocket_unknowns_left_out": dropped,
                            "problem": problem,
                            "program": program,
                            "method": method,
                            **figures,
                            "threads": threads,
                        }
                        ours = judge(row, system, x, ours, self.args.tol)
                        rows.append(row)
                        print("  " + line(row), flush=True)
        compare_costs(rows)
        return rows


def seconds(figures):
    return figures["setup_seconds"] + figures["solve_seconds"]


def judge(row, system, x, ours, tolerance):
    """Completes a row by what the solution is worth; returns the solution to compare with."""
    separating = row["problem"] == "separating"
    if x is None:
        row["verdict"] = row.pop("failed")
        return ours
    row["seconds"] = seconds(row)
    row["true_residual"] = system.residual(x, separating)
    if separating:
        row["separated"] = system.separated(x)
    is_ours = (row["program"], row["method"]) == OURS[row["problem"]]
    ours = x if ours is None and is_ours else ours
    row["difference"] = None if ours is None else system.difference(x, ours)
    if row["true_residual"] > tolerance * (1 + 1e-6):
        row["verdict"] = "residual too large"
    elif row["difference"] is None or not row["difference"] <= AGREEMENT:
        row["verdict"] = "another solution"
    else:
        row["verdict"] = "ok"
    return ours


def compare_costs(rows):
    """Adds to each row how many times the seconds and the memory of ours it took, with as many
    threads."""
    for row in rows:
        base = [
            other
            for other in rows
            if (other["program"], other["method"]) == OURS[row["problem"]]
            and (other["problem"], other["threads"]) == (row["problem"], row["threads"])
            and other["verdict"] == "ok"
        ]
        row["ratio"] = row["memory_ratio"] = None
        if base and row["verdict"] == "ok":
            row["ratio"] = row["seconds"] / base[0]["seconds"]
            if row["peak_memory_bytes"] and base[0]["peak_memory_bytes"]:
                memory = row["peak_memory_bytes"] / base[0]["peak_memory_bytes"]
                row["memory_ratio"] = memory


def line(row):
    head = f"{row['problem']:<10} {row['program']:<5} {row['method']:<11} {row['threads']}"
    if row["verdict"] != "ok":
        return f"{head}  {row['verdict']}"
    return f"{head} {row['seconds']:9.3f} s, residual {row['true_residual']:.1e}"


def table(rows):
    """The rows as a table in Markdown."""
    head = ["system", "problem", "program", "method", "threads", "iterations", "seconds"]
    head += ["of it set-up", "read, convert", "MB", "residual", "difference", "ratio", "memory ratio"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        start = [row["system"], row["problem"], row["program"], row["method"], str(row["threads"])]
        if row["verdict"] != "ok":
            lines.append(start + [row["verdict"]] + [""] * (len(head) - len(start) - 1))
            continue
        ratios = [row["ratio"], row["memory_ratio"]]
        memory = row["peak_memory_bytes"] or 0
        figures = [
            f"{row['outer_iterations']}/{row['iterations']}",
            f"{row['seconds']:.3f}",
            f"{row['setup_seconds']:.3f}",
            f"{row['read_seconds']:.2f}, {row['convert_seconds']:.2f}",
            f"{memory / 1e6:.0f}",
            f"{row['true_residual']:.1e}",
            f"{row['difference']:.0e}",
            *("" if ratio is None else f"{ratio:.1f}" for ratio in ratios),
        ]
        lines.append(start + figures)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def summary(rows):
    """One line for each rival and system, both sides with the threads that suit them best."""
    fastest = {}
    for row in rows:
        if row["verdict"] == "ok":
            key = (row["system"], row["problem"], row["program"], row["method"])
            fastest[key] = min(row["seconds"], fastest.get(key, row["seconds"]))
    lines = []
    for (system, *key), rival in fastest.items():
        ours = (system, key[0], *OURS[key[0]])
        if tuple(key) in RIVALS and ours in fastest:
            ratio = rival / fastest[ours]
            lines.append(f"- {system}: {ours[3]} is {ratio:.1f} times as fast as PETSc's {key[2]}")
    return lines


def machine():
    """What the figures depend on."""
    lines = open("/proc/cpuinfo").read().splitlines()
    models = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    form = "--showformat=${db:Status-Status} ${Package} ${Version}\n"
    names = ["libpetsc-real*", "libhypre-*", "libeigen3-dev", "g++"]
    query = ["dpkg-query", "--show", form, *names]
    listed = subprocess.run(query, capture_output=True, text=True).stdout.splitlines()
    present = [line.removeprefix("installed ") for line in listed if line.startswith("installed ")]
    return {
        "processor": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "packages": [line for line in present if "-dev " not in line or "eigen" in line],
        "load_before": os.getloadavg()[0],
    }


def folder(args, about):
    """Where the figures go: the folder asked for, or one named by day and machine."""
    if args.output:
        return args.output
    words = about["processor"].lower().replace("(r)", " ").replace("(tm)", " ").split()
    brands = ["xeon", "epyc", "ryzen", "core", "neoverse"]
    brand = next((word for word in brands if word in words), platform.machine())
    date = datetime.date.today().isoformat()
    return os.path.join(args.runs, f"{date}-{brand}-{about['cores']}core")


def evidence(rows, args, about):
    """The text of peers.md."""
    walls = {r["system"]: r for r in rows if r["problem"] == "separating" and "separated" in r}
    systems = [
        f"- {name}: {r['unknowns']} unknowns, {r['wall_unknowns']} at walls, of which "
        f"{100 * r['separated'] / max(1, r['wall_unknowns']):.0f} % let go"
        for name, r in walls.items()
    ]
    faces = {r["system"]: r["unknowns"] for r in rows if r["problem"] == "viscosity"}
    systems += [f"- {name}: {unknowns} velocities" for name, unknowns in faces.items()]
    return "\n".join(
        [
            "# plash and its peers on the same systems",
            "",
            f"`cargo xtask peers`, commit {args.commit}, {about['cores']} cores of",
            f"{about['processor']}, load before the start {about['load_before']:.2f};",
            f"{', '.join(about['packages'])}.",
            "",
            f"Stop: largest residual at most {args.tol:g} of the largest entry of the right-hand",
            "side (separating: the natural residual), checked for every solution. Cold starts.",
            "Seconds are set-up and solve, the best of three up to a million unknowns; ratios are",
            "to the first method of plash with as many threads. Iterations: outer/inner.",
            "Differences are to the solution of plash, relative to its largest entry. Memory",
            "counts the whole program.",
            "",
            *systems,
            "",
            *summary(rows),
            "",
            table(rows),
            "",
        ]
    )


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("--plash", "--eigen", "--work", "--runs", "--commit"):
        parser.add_argument(name, required=True)
    parser.add_argument("--output")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--ball", type=int, action="append", default=[])
    parser.add_argument("problems", nargs="*")
    return parser.parse_args()


def main():
    args = arguments()
    about = machine()
    if about["load_before"] > 0.5:
        print(f"note: the load is {about['load_before']:.2f}; figures will be too large")
    bench = Bench(args)
    if not bench.mpi:
        print("note: mpiexec does not work here, so that PETSc runs on one rank only")
    rows = []
    for path in args.problems:
        name = os.path.splitext(os.path.basename(path))[0]
        rows += bench.compare(name, System.read(path))
    for cells in args.ball:
        rows += bench.compare(f"half-ball-{cells}", half_ball(cells))
    document = {
        "date": datetime.date.today().isoformat(),
        "commit": args.commit,
        "tolerance": args.tol,
        "machine": about,
        "rows": rows,
    }
    output = folder(args, about)
    os.makedirs(output, exist_ok=True)
    with open(os.path.join(output, "peers.json"), "w") as out:
        json.dump(document, out, indent=1)
    with open(os.path.join(output, "peers.md"), "w") as out:
        out.write(evidence(rows, args, about))
    print("\n" + table(rows) + "\n")
    print("\n".join(summary(rows)))
    print(f"\nwritten to {output}: peers.md, peers.json")
    wrong = [row for row in rows if row["verdict"] != "ok"]
    for row in wrong:
        print(f"not ok: {row['system']}: {line(row)}", file=sys.stderr)
    sys.exit(1 if wrong else 0)


main()
