"""The testbed of the user's own hosts, which are reached by ssh and listed in an inventory."""
