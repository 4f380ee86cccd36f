"""Speed, scale and memory as ratios measured in one run: `make bench`. Never part of the tests."""
