"""The testbed that uses network namespaces of this machine as hosts. This file imports nothing, so
programs in a sandbox start ten times faster than if it imported everything."""
