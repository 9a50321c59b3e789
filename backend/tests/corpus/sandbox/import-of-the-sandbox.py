# CODE_ERROR
import pydantic_monty
result = str(pydantic_monty.Monty('1').run())
