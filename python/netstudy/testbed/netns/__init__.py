"""Namespaces of this machine as hosts. This file imports nothing, so that a program for a sandbox
starts in a tenth of the time that importing everything would take."""
