"""The parts of `Benchmarks/run`: content, stop-watch, programs, experiments, rows, report."""
