"""Uploaded measurements: who may write them, where they are kept, and how they reach every process."""
