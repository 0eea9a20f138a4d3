"""`bench attribution`: known faults are planted, and what attribution and repair make of them is
counted.
"""
