"""The sections of a report; each module computes the data of one and says it in sentences."""
