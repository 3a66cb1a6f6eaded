"""Solves a stored system with PETSc: petsc_solve.py PROBLEM METHOD TOL REPEATS RESULT

METHOD is cg-hypre or cg-icc for a linear problem, vi-icc for the separating one (PETSc's
reduced-space semismooth Newton method for variational inequalities, "vinewtonrsls"). Run under
mpiexec for several ranks; icc then works inside each rank's block. RESULT (.npz) receives the
solution and the figures. PETSc is told in advance how many iterations its conjugate gradients
need for the common stop, so that it pays for no test of its own.
"""

import glob
import json
import resource
import sys
import time

import numpy as np

# Debian puts PETSc's Python beside PETSc; its path file needs the development package.
sys.path += sorted(glob.glob("/usr/lib/petscdir/petsc*/*-real/lib/python3/dist-packages"))

import petsc4py

petsc4py.init(["petsc_solve", "-malloc_debug", "0"])
from petsc4py import PETSc

# Relative tolerance of the linear solves inside the Newton method; looser ones cost further
# Newton steps, tighter ones iterations. Of 1e-1, 1e-2, 1e-3 and 1e-5 this one is the fastest.
INNER = 1e-1


def load(path):
    """This rank's rows of the matrix, and its part of the right-hand side and the walls."""
    with np.load(path) as file:
        n = file["rhs"].size
        probe = PETSc.Vec().createMPI(n)
        first, last = probe.getOwnershipRange()
        indptr = file["indptr"]
        entries = slice(indptr[first], indptr[last])
        rows = (indptr[first : last + 1] - indptr[first]).astype(np.int32)
        csr = (rows, file["indices"][entries], file["data"][entries])
        at_wall = np.zeros(n, dtype=bool)
        at_wall[file["S"]] = True
        return n, csr, file["rhs"][first:last], at_wall[first:last]


def vector(values, n):
    v = PETSc.Vec().createMPI((values.size, n))
    v.setArray(values)
    return v


def precondition(pc, kind):
    if kind == "hypre":
        pc.setType("hypre")
        pc.setHYPREType("boomeramg")
        options = PETSc.Options()
        # The settings that suit a Poisson problem in space (see hypre's manual).
        options["pc_hypre_boomeramg_strong_threshold"] = 0.5
        pc.setFromOptions()
    elif PETSc.COMM_WORLD.size == 1:
        pc.setType("icc")
    else:
        PETSc.Options()["sub_pc_type"] = "icc"
        pc.setType("bjacobi")
        pc.setFromOptions()


def conjugate_gradients(matrix, rhs, kind, iterations):
    ksp = PETSc.KSP().create()
    ksp.setOperators(matrix)
    ksp.setType("cg")
    precondition(ksp.getPC(), kind)
    if iterations is None:
        ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
        ksp.setTolerances(rtol=1e-30, atol=1e-300, max_it=5000)
    else:
        ksp.setNormType(PETSc.KSP.NormType.NONE)
        ksp.setTolerances(max_it=iterations)
    return ksp


def iterations_needed(matrix, rhs, kind, target):
    """Iterations after which the true residual is within the target in the max norm."""
    ksp = conjugate_gradients(matrix, rhs, kind, None)

    def stop(ksp, its, _norm):
        residual = ksp.buildResidual().norm(PETSc.NormType.NORM_INFINITY)
        return PETSc.KSP.ConvergedReason.CONVERGED_RTOL if residual <= target else 0

    ksp.setConvergenceTest(stop)
    ksp.solve(rhs, rhs.duplicate())
    return ksp.getIterationNumber()


def linear(matrix, rhs, kind, target, repeats):
    needed = iterations_needed(matrix, rhs, kind, target)
    best = None
    for _ in range(repeats):
        x = rhs.duplicate()
        start = now()
        ksp = conjugate_gradients(matrix, rhs, kind, needed)
        ksp.setUp()
        ksp.setUpOnBlocks()
        ready = now()
        ksp.solve(rhs, x)
        figures = (now() - start, ready - start, ksp.getIterationNumber(), 1, x)
        best = figures if best is None or figures[0] < best[0] else best
        ksp.destroy()
    return best


def separating(matrix, rhs, at_wall, target, repeats):
    best = None
    for _ in range(repeats):
        x = rhs.duplicate()
        x.set(0.0)
        start = now()
        inner, outer = newton(matrix, rhs, at_wall, target, x)
        figures = (now() - start, 0.0, inner, outer, x)
        best = figures if best is None or figures[0] < best[0] else best
    return best


def newton(matrix, rhs, at_wall, target, x):
    """Solves 0 <= x, F(x) = A x - rhs >= 0 on walls, F(x) = 0 elsewhere. Returns iterations."""
    lower, upper = rhs.duplicate(), rhs.duplicate()
    lower.setArray(np.where(at_wall, 0.0, PETSc.NINFINITY))
    upper.set(PETSc.INFINITY)
    diagonal = matrix.getDiagonal().getArray()

    def function(_snes, x, f):
        matrix.mult(x, f)
        f.axpy(-1.0, rhs)

    def jacobian(_snes, _x, _j, _p):
        return True

    natural = rhs.duplicate()

    def stop(snes, _iteration, _norms):
        x, y = snes.getSolution().getArray(True), snes.getFunction()[0].getArray(True)
        natural.setArray(np.where(at_wall, np.minimum(y, diagonal * x), y))
        worst = natural.norm(PETSc.NormType.NORM_INFINITY)
        return PETSc.SNES.ConvergedReason.CONVERGED_FNORM_ABS if worst <= target else 0

    # The problem is linear between its kinks, so that full steps are right.
    PETSc.Options()["snes_linesearch_type"] = "basic"
    snes = PETSc.SNES().create()
    snes.setType("vinewtonrsls")
    snes.setFunction(function, rhs.duplicate())
    snes.setJacobian(jacobian, matrix, matrix)
    snes.setVariableBounds(lower, upper)
    ksp = snes.getKSP()
    ksp.setType("cg")
    precondition(ksp.getPC(), "icc")
    ksp.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    ksp.setTolerances(rtol=INNER, atol=1e-300, max_it=5000)
    snes.setTolerances(rtol=0, atol=0, stol=0, max_it=200)
    snes.setConvergenceTest(stop)
    snes.setFromOptions()
    snes.solve(None, x)
    return snes.getLinearSolveIterations(), snes.getIterationNumber()


def now():
    """The time when every rank has come here."""
    PETSc.COMM_WORLD.barrier()
    return time.perf_counter()


def gathered(x):
    """The whole vector, on rank 0."""
    scatter, whole = PETSc.Scatter.toZero(x)
    scatter.scatter(x, whole)
    return whole.getArray()


def peak_memory_bytes():
    """Of all ranks together."""
    mine = vector(np.array([1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]), None)
    return int(mine.sum())


def main():
    problem, method, tolerance, repeats, result = sys.argv[1:]
    start = now()
    n, csr, values, at_wall = load(problem)
    read = now()
    matrix = PETSc.Mat().createAIJ(((values.size, n), (values.size, n)), csr=csr)
    matrix.assemble()
    rhs = vector(values, n)
    target = float(tolerance) * rhs.norm(PETSc.NormType.NORM_INFINITY)
    convert = now()
    if method == "vi-icc":
        best = separating(matrix, rhs, at_wall, target, int(repeats))
    else:
        best = linear(matrix, rhs, method.removeprefix("cg-"), target, int(repeats))
    seconds, setup, inner, outer, x = best
    whole, memory = gathered(x), peak_memory_bytes()
    if PETSc.COMM_WORLD.rank == 0:
        np.savez(result, x=whole)
        figures = {
            "read_seconds": read - start,
            "convert_seconds": convert - read,
            "setup_seconds": setup,
            "solve_seconds": seconds - setup,
            "iterations": inner,
            "outer_iterations": outer,
            "peak_memory_bytes": memory,
        }
        print(json.dumps(figures))


main()
