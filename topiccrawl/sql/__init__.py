"""The schema of link.db, one numbered file a version. Read with importlib.resources: a path does not exist in an egg."""
