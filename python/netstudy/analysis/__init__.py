"""From records to findings: arrays in, frozen dataclasses out. Nothing here prints or draws."""
