"""The language model that lives inside the product: fetched once, checked by hash, run in a process of its own."""
