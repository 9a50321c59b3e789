"""How well the embedded model decides: cases of our own, and a runner that puts them to the product's real path."""
