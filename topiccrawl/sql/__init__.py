"""The schema of link.db, one numbered file a version, read with importlib.resources: an egg has no paths."""
