"""Pressure and viscosity systems: reading, cleaning, making and judging them.

A system is A x = rhs with a set S of wall unknowns. Linear: A x = rhs everywhere. Separating:
0 <= x_i, (A x - rhs)_i >= 0, one of them zero, for i in S. The file format is described in
docs/problem-files.md.
"""

import numpy as np
import scipy.sparse as sparse
from scipy.sparse.csgraph import connected_components


class System:
    """A symmetric matrix, a right-hand side, and the unknowns beside walls."""

    def __init__(self, matrix, rhs, walls, coords, comp=None, kind="pressure"):
        self.matrix = matrix
        self.rhs = rhs
        self.walls = walls
        self.coords = coords
        self.comp = np.zeros(rhs.size, dtype=np.int8) if comp is None else comp
        self.kind = kind

    @staticmethod
    def read(path):
        with np.load(path) as file:
            n = file["rhs"].size
            parts = (file["data"], file["indices"], file["indptr"])
            matrix = sparse.csr_matrix(parts, shape=(n, n))
            walls = file["S"].astype(np.int32)
            return System(
                matrix, file["rhs"], walls, file["coords"], file["comp"], str(file["kind"])
            )

    def write(self, path):
        matrix = self.matrix
        np.savez(
            path,
            indptr=matrix.indptr.astype(np.int64),
            indices=matrix.indices.astype(np.int32),
            data=matrix.data,
            rhs=self.rhs,
            S=self.walls.astype(np.int32),
            coords=self.coords,
            comp=self.comp,
            kind=self.kind,
        )

    def write_raw(self, path):
        """For the C++ program: n, entries, walls as i64, then the arrays of the format."""
        matrix = self.matrix
        with open(path, "wb") as out:
            np.array([self.rhs.size, matrix.nnz, self.walls.size], dtype=np.int64).tofile(out)
            matrix.indptr.astype(np.int64).tofile(out)
            matrix.indices.astype(np.int32).tofile(out)
            matrix.data.tofile(out)
            self.rhs.tofile(out)
            self.walls.astype(np.int32).tofile(out)

    def without_pockets(self):
        """The system without the bodies of liquid that touch no air, and how many unknowns
        that leaves out: there the matrix is singular, which the peers do not expect.
        Viscosity systems are left as they are: what is singular in them has no right-hand side,
        and conjugate gradients do not mind."""
        if self.kind == "viscosity":
            return self, 0
        count, label = connected_components(self.matrix, directed=False)
        excess = np.bincount(label, self.matrix @ np.ones(self.rhs.size), count)
        size = np.bincount(label, self.matrix.diagonal(), count)
        keep = (excess > 1e-9 * size)[label]
        if keep.all():
            return self, 0
        number = np.cumsum(keep) - 1
        walls = number[self.walls[keep[self.walls]]].astype(np.int32)
        matrix = self.matrix[keep][:, keep].tocsr()
        kept = System(matrix, self.rhs[keep], walls, self.coords[keep])
        return kept, int(self.rhs.size - kept.rhs.size)

    def residual(self, x, separating):
        """Largest residual relative to the largest entry of the right-hand side."""
        y = self.matrix @ x - self.rhs
        if separating:
            scaled = self.matrix.diagonal()[self.walls] * x[self.walls]
            y[self.walls] = np.minimum(y[self.walls], scaled)
        # A solution that is no number must not pass for a small one.
        worst = np.abs(y).max() / np.abs(self.rhs).max()
        return float(worst) if np.isfinite(worst) else float("inf")

    def difference(self, x, y):
        """How far two solutions differ, relative to the second. Faces without mass that share one
        sample of strain, as at the edges of a liquid, slide past each other at no cost: nothing
        tells their velocities, and solutions that are alike but for those have the same energy."""
        worst = np.abs(x - y).max() / np.abs(y).max()
        if self.kind == "viscosity":
            energy = lambda v: np.sqrt(max(v @ (self.matrix @ v), 0.0))
            worst = min(worst, energy(x - y) / energy(y))
        return float(worst)

    def separated(self, x):
        """How many wall unknowns have let go."""
        y = self.matrix @ x - self.rhs
        scaled = self.matrix.diagonal()[self.walls] * x[self.walls]
        return int(np.count_nonzero(y[self.walls] > scaled))


def half_ball(cells):
    """The left half of a ball of radius 0.4 filled with liquid that is splashed upwards: cut
    cells at the wall, ghost fluid at the surface, and a velocity that makes about a quarter of
    the wall unknowns let go. Scaled by the cell's size squared."""
    dx = 1.0 / cells
    node = np.arange(cells + 1) * dx - 0.5
    centre = node[:-1] + 0.5 * dx
    x, y, z = np.meshgrid(centre, centre, centre, indexing="ij", sparse=True)
    surface = x - 0.02 * np.sin(9.0 * y) - 0.015 * np.cos(7.0 * z)
    wall = 0.4 - np.sqrt(node[:, None, None] ** 2 + node[:, None] ** 2 + node**2)
    faces = [open_share(wall, axis) for axis in range(3)]
    flux = [faces[axis] * speed(node, centre, axis) for axis in range(3)]
    side = lambda field, axis, high: np.take(field, range(high, cells + high), axis)
    touched = sum(side(faces[a], a, h) > 0.0 for a in range(3) for h in (0, 1)) > 0
    liquid = (surface < 0.0) & touched
    number = np.full(liquid.shape, -1, dtype=np.int32)
    number[liquid] = np.arange(np.count_nonzero(liquid), dtype=np.int32)
    rows, columns, values = [], [], []
    diagonal = np.zeros(np.count_nonzero(liquid))
    divergence = np.zeros_like(diagonal)
    at_wall = np.zeros(diagonal.size, dtype=bool)
    for axis in range(3):
        for high in (0, 1):
            weight = side(faces[axis], axis, high)[liquid]
            divergence += (2 * high - 1) * side(flux[axis], axis, high)[liquid]
            at_wall |= weight < 1.0
            # Nothing liquid lies at the border of the cube, so that rolling over it is harmless.
            other = np.roll(number, 1 - 2 * high, axis)[liquid]
            beyond = np.roll(surface, 1 - 2 * high, axis)[liquid]
            inner = surface[liquid]
            with np.errstate(divide="ignore", invalid="ignore"):
                theta = np.maximum(inner / (inner - beyond), 0.01)
            wet = other >= 0
            diagonal += np.where(weight == 0.0, 0.0, np.where(wet, weight, weight / theta))
            joined = wet & (weight > 0.0)
            rows.append(np.flatnonzero(joined))
            columns.append(other[joined])
            values.append(-weight[joined])
    everything = np.arange(diagonal.size)
    matrix = sparse.coo_matrix(
        (
            np.concatenate(values + [diagonal]),
            (np.concatenate(rows + [everything]), np.concatenate(columns + [everything])),
        )
    ).tocsr()
    matrix.sort_indices()
    coords = np.stack([c + 0.5 for c in np.nonzero(liquid)], axis=1) * dx
    return System(matrix, -dx * divergence, np.flatnonzero(at_wall).astype(np.int32), coords)


def open_share(wall, axis):
    """Open share of the faces across an axis, from the distance to the wall at their corners:
    the share of eight lines that lies inside, so that it varies smoothly."""
    first, second = [a for a in range(3) if a != axis]
    low, high = slice(None, -1), slice(1, None)

    def corners(i, j):
        at = [slice(None)] * 3
        at[first], at[second] = (low, high)[i], (low, high)[j]
        return wall[tuple(at)]

    share = 0.0
    for line in (np.arange(8) + 0.5) / 8:
        a = (1 - line) * corners(0, 0) + line * corners(0, 1)
        b = (1 - line) * corners(1, 0) + line * corners(1, 1)
        total = np.maximum(a, 0.0) + np.maximum(b, 0.0)
        span = np.abs(a) + np.abs(b)
        share = share + np.where((a > 0) & (b > 0), 1.0, total / np.maximum(span, 1e-300)) / 8
    return np.where(share > 0.0, np.maximum(share, 0.01), 0.0)


def speed(node, centre, axis):
    """Velocity of the splash along an axis, at the faces across it."""
    places = [node if a == axis else centre for a in range(3)]
    x, y, z = np.meshgrid(*places, indexing="ij", sparse=True)
    if axis == 0:
        return -0.15 - 2.0 * y + 0.1 * np.sin(20.0 * z) + 0.0 * x
    if axis == 1:
        return 1.0 + 2.0 * x + 0.3 * np.sin(15.0 * x) + 0.0 * y + 0.0 * z
    return 0.2 * np.cos(10.0 * y) + 0.0 * x + 0.0 * z
