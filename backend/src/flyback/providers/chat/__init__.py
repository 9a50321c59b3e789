"""Chat models behind HTTP: OpenAI and what speaks its protocol, Anthropic, Google.

Others use `HttpChatModel` and `ChatConnections` of `http_model`, and the table of `vendors`. `wire` and `library` import
the provider library and are loaded with the first call.
"""
