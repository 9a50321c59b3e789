"""`python -m flyback.main`: the same as the `flyback` program."""

from flyback.main.program import main

main()
