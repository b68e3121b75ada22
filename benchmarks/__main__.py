"""Run every benchmark."""

import os

# One core: ratios must not depend on how many threads a matrix product finds.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from benchmarks import bounds, compiling, linear, policies, quantiles  # noqa: E402 - after the variables are set

quantiles.main()
print()
bounds.main()
print()
policies.main()
print()
linear.main()
print()
compiling.main()
