"""The frontier: every known URL, the five queues, and which URL may be asked next. `base.py` has the contract."""
