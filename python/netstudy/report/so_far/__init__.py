"""The report of an unfinished study: its progress, and what its runs show so far.

It has no p values, no verdicts and no conclusions (`analysis.preliminary` says why).
"""
