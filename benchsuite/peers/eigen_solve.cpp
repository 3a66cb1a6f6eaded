// Solves a stored system with Eigen: eigen_solve PROBLEM METHOD TOL REPEATS RESULT
//
// METHOD is cg-ic or cg-diagonal for the linear problem; pi-ic or pi-diagonal for the separating
// one (policy iteration around the same conjugate gradients). PROBLEM is the raw file written by
// systems.py, RESULT receives the solution as raw f64; figures go to standard output as JSON.
// Eigen stops by the 2-norm, the comparison by the max norm: the 2-norm tolerance is the loosest,
// in steps of two, that meets the common stop, found before time is taken.

#include <Eigen/IterativeLinearSolvers>
#include <Eigen/Sparse>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

using Vector = Eigen::VectorXd;
using Matrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
// Natural order keeps the order of the grid, which serves incomplete factors better.
using Cholesky = Eigen::IncompleteCholesky<double, Eigen::Lower, Eigen::NaturalOrdering<int>>;
using Diagonal = Eigen::DiagonalPreconditioner<double>;
template <class Preconditioner>
using Gradients = Eigen::ConjugateGradient<Matrix, Eigen::Lower | Eigen::Upper, Preconditioner>;

static double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

struct Problem {
    Matrix a;
    Vector b;
    std::vector<char> at_wall;
};

struct Figures {
    double setup = 0, solve = 0;
    long iterations = 0, outer = 0;
    Vector x;
    double seconds() const { return setup + solve; }
};

template <class T>
static std::vector<T> read(std::ifstream &file, size_t count) {
    std::vector<T> values(count);
    file.read(reinterpret_cast<char *>(values.data()), count * sizeof(T));
    if (!file) throw std::runtime_error("the problem file is too short");
    return values;
}

static Problem load(const char *path, double &read_seconds, double &convert_seconds) {
    const double start = now();
    std::ifstream file(path, std::ios::binary);
    const auto sizes = read<int64_t>(file, 3);
    const auto starts = read<int64_t>(file, sizes[0] + 1);
    auto columns = read<int32_t>(file, sizes[1]);
    auto values = read<double>(file, sizes[1]);
    auto rhs = read<double>(file, sizes[0]);
    const auto walls = read<int32_t>(file, sizes[2]);
    read_seconds = now() - start;
    std::vector<int> outer(starts.begin(), starts.end());
    Problem p;
    p.a = Eigen::Map<Matrix>(sizes[0], sizes[0], sizes[1], outer.data(), columns.data(),
                             values.data());
    p.b = Eigen::Map<Vector>(rhs.data(), sizes[0]);
    p.at_wall.assign(sizes[0], 0);
    for (int i : walls) p.at_wall[i] = 1;
    convert_seconds = now() - start - read_seconds;
    return p;
}

template <class Preconditioner>
static Figures conjugate_gradients(const Matrix &a, const Vector &b, const Vector &guess,
                                   double tolerance) {
    Figures f;
    const double start = now();
    Gradients<Preconditioner> cg;
    cg.setTolerance(tolerance);
    cg.setMaxIterations(20000);
    cg.compute(a);
    if (cg.info() != Eigen::Success) throw std::runtime_error("the factorisation failed");
    const double ready = now();
    f.x = cg.solveWithGuess(b, guess);
    f.setup = ready - start;
    f.solve = now() - ready;
    f.iterations = cg.iterations();
    f.outer = 1;
    return f;
}

template <class Preconditioner>
static Figures linear(const Problem &p, double target, int repeats) {
    const Vector zero = Vector::Zero(p.b.size());
    double tolerance = target * std::sqrt(double(p.b.size())) / p.b.norm();
    for (;; tolerance /= 2) {
        const Figures f = conjugate_gradients<Preconditioner>(p.a, p.b, zero, tolerance);
        if ((p.b - p.a * f.x).lpNorm<Eigen::Infinity>() <= target) break;
        if (tolerance < 1e-15) throw std::runtime_error("the tolerance cannot be met");
    }
    Figures best;
    for (int k = 0; k < repeats; ++k) {
        Figures f = conjugate_gradients<Preconditioner>(p.a, p.b, zero, tolerance);
        if (k == 0 || f.seconds() < best.seconds()) best = f;
    }
    return best;
}

// The rows and columns of the unknowns that are kept, numbered anew.
static Matrix restricted(const Matrix &a, const std::vector<int> &number, int count) {
    std::vector<int> starts{0}, columns;
    std::vector<double> values;
    starts.reserve(count + 1);
    columns.reserve(a.nonZeros());
    values.reserve(a.nonZeros());
    for (int i = 0; i < a.rows(); ++i) {
        if (number[i] < 0) continue;
        for (Matrix::InnerIterator entry(a, i); entry; ++entry) {
            if (number[entry.col()] < 0) continue;
            columns.push_back(number[entry.col()]);
            values.push_back(entry.value());
        }
        starts.push_back(int(columns.size()));
    }
    return Eigen::Map<Matrix>(count, count, columns.size(), starts.data(), columns.data(),
                              values.data());
}

// Policy iteration: wall unknowns with (A x - b)_i > A_ii x_i are fixed at zero, the others
// solved for, a tenth of the residual at a time.
template <class Preconditioner>
static Figures policy_iteration(const Problem &p, double target) {
    const int n = int(p.b.size());
    const double start = now();
    const Vector diagonal = p.a.diagonal();
    Figures f;
    f.x = Vector::Zero(n);
    Vector y = -p.b;
    std::vector<int> number(n);
    for (;; ++f.outer) {
        double worst = 0;
        int kept = 0;
        for (int i = 0; i < n; ++i) {
            const bool fixed = p.at_wall[i] && y[i] > diagonal[i] * f.x[i];
            worst = std::max(worst, std::abs(fixed ? diagonal[i] * f.x[i] : y[i]));
            number[i] = fixed ? -1 : kept++;
        }
        if (worst <= target) break;
        if (f.outer == 200) throw std::runtime_error("200 policies were not enough");
        const double part = now();
        const Matrix a = restricted(p.a, number, kept);
        Vector b(kept), guess(kept);
        for (int i = 0; i < n; ++i)
            if (number[i] >= 0) b[number[i]] = p.b[i], guess[number[i]] = f.x[i];
        const double tolerance = 0.1 * (b - a * guess).norm() / b.norm();
        f.setup += now() - part;
        const Figures inner = conjugate_gradients<Preconditioner>(a, b, guess, tolerance);
        f.setup += inner.setup;
        f.iterations += inner.iterations;
        for (int i = 0; i < n; ++i) f.x[i] = number[i] >= 0 ? inner.x[number[i]] : 0.0;
        y = p.a * f.x - p.b;
    }
    f.solve = now() - start - f.setup;
    return f;
}

template <class Preconditioner>
static Figures separating(const Problem &p, double target, int repeats) {
    Figures best;
    for (int k = 0; k < repeats; ++k) {
        Figures f = policy_iteration<Preconditioner>(p, target);
        if (k == 0 || f.seconds() < best.seconds()) best = f;
    }
    return best;
}

static long peak_memory_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmHWM:", 0) == 0) return 1024 * std::atol(line.c_str() + 6);
    return 0;
}

static int run(char **argv) {
    double read_seconds, convert_seconds;
    const Problem p = load(argv[1], read_seconds, convert_seconds);
    const std::string method = argv[2];
    const double target = std::atof(argv[3]) * p.b.lpNorm<Eigen::Infinity>();
    const int repeats = std::atoi(argv[4]);
    const auto solve = method == "cg-ic"         ? linear<Cholesky>
                       : method == "cg-diagonal" ? linear<Diagonal>
                       : method == "pi-ic"       ? separating<Cholesky>
                       : method == "pi-diagonal" ? separating<Diagonal>
                                                 : nullptr;
    if (!solve) throw std::runtime_error("no such method: " + method);
    const Figures f = solve(p, target, repeats);
    std::ofstream(argv[5], std::ios::binary)
        .write(reinterpret_cast<const char *>(f.x.data()), f.x.size() * sizeof(double));
    std::printf("{\"read_seconds\": %g, \"convert_seconds\": %g, \"setup_seconds\": %g, "
                "\"solve_seconds\": %g, \"iterations\": %ld, \"outer_iterations\": %ld, "
                "\"peak_memory_bytes\": %ld}\n",
                read_seconds, convert_seconds, f.setup, f.solve, f.iterations, f.outer,
                peak_memory_bytes());
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        std::fprintf(stderr, "usage: eigen_solve PROBLEM METHOD TOL REPEATS RESULT\n");
        return 2;
    }
    try {
        return run(argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "eigen_solve: %s\n", error.what());
        return 1;
    }
}
