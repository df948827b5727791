"""What bounds throughput: the candidates, their bounds, and the verdict at each level of a load."""
