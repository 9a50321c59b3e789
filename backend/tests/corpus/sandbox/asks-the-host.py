# CODE_ERROR
import asyncio
result = asyncio.run(asyncio.open_connection('127.0.0.1', 8321))
