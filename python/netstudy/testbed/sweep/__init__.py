"""Runs of the simulator on the workers of a dask cluster: `netstudy run --on`.

`address` reads the option, `cluster` starts or reaches the cluster and checks its workers, `cutter`
cuts the runs into slices of a few seconds of work, `conduct` hands the slices out and takes their
records in, and `worker` is executed by the workers, which need Python and dask, and no netstudy.
"""
