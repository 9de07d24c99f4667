"""Planning, the inverse question: which hardware, format and engine run a model, and what a GPU runs."""
