"""The providers a model entry may name: which protocol each speaks, where it is, and which variable holds its key.

A provider that speaks OpenAI's protocol needs one line here. Any other server of that protocol is `openai-compatible`
with its base URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

Protocol = Literal["openai", "anthropic", "google"]


@dataclass(frozen=True, slots=True)
class Vendor:
    """`base_url` is None where the entry has to name it; `model` is what a new entry begins with."""

    protocol: Protocol
    title: str
    base_url: str | None
    key_variables: tuple[str, ...] = ()
    model: str = ""
    local: bool = False
    """Runs on one's own machine and asks for no key."""

    @property
    def needs_key(self) -> bool:
        return bool(self.key_variables)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model is and how it is spoken to."""

    protocol: Protocol
    base_url: str
    model: str
    api_key: str | None = None
    is_openai: bool = False
    """OpenAI itself, and not only its protocol."""


VENDORS: Final[Mapping[str, Vendor]] = {
    "openai-compatible": Vendor("openai", "OpenAI-compatible", None),
    "openai": Vendor("openai", "OpenAI", "https://api.openai.com/v1", ("OPENAI_API_KEY",), "gpt-5-mini"),
    "anthropic": Vendor(
        "anthropic", "Anthropic", "https://api.anthropic.com", ("ANTHROPIC_API_KEY",), "claude-sonnet-4-5"
    ),
    "google": Vendor(
        "google",
        "Google Gemini",
        "https://generativelanguage.googleapis.com",
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        "gemini-2.5-flash",
    ),
    "deepseek": Vendor("openai", "DeepSeek", "https://api.deepseek.com", ("DEEPSEEK_API_KEY",), "deepseek-chat"),
    "zhipu": Vendor(
        "openai", "Zhipu GLM", "https://open.bigmodel.cn/api/paas/v4", ("ZHIPUAI_API_KEY", "ZAI_API_KEY"), "glm-4.6"
    ),
    "qwen": Vendor(
        "openai",
        "Alibaba Qwen",
        "https://dashscope.aliyuncs.com/compatible-mode/v1",
        ("DASHSCOPE_API_KEY",),
        "qwen-plus",
    ),
    "moonshot": Vendor("openai", "Moonshot Kimi", "https://api.moonshot.cn/v1", ("MOONSHOT_API_KEY",), "kimi-k2"),
    "openrouter": Vendor("openai", "OpenRouter", "https://openrouter.ai/api/v1", ("OPENROUTER_API_KEY",)),
    "groq": Vendor("openai", "Groq", "https://api.groq.com/openai/v1", ("GROQ_API_KEY",)),
    "mistral": Vendor("openai", "Mistral", "https://api.mistral.ai/v1", ("MISTRAL_API_KEY",), "mistral-small-latest"),
    "together": Vendor("openai", "Together", "https://api.together.xyz/v1", ("TOGETHER_API_KEY",)),
    "xai": Vendor("openai", "xAI", "https://api.x.ai/v1", ("XAI_API_KEY",), "grok-4"),
    "ollama": Vendor("openai", "Ollama", "http://127.0.0.1:11434/v1", local=True),
    "lmstudio": Vendor("openai", "LM Studio", "http://127.0.0.1:1234/v1", local=True),
    "vllm": Vendor("openai", "vLLM", "http://127.0.0.1:8000/v1", local=True),
}
