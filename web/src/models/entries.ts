/** What a model entry means: which is the default, how far its download is, what its form holds. Pure. */
import type { EmbeddedModel, Model, ModelGiven } from '@/api/types'

export function defaultModel(models: readonly Model[]): Model | undefined {
  return models.find(model => model.isDefault)
}

/** Whole percent, never 100 before the end. */
export function downloadPercent({ state, fetchedBytes, sizeBytes }: Pick<EmbeddedModel, 'state' | 'fetchedBytes' | 'sizeBytes'>): number {
  if (state === 'ready') return 100
  return sizeBytes > 0 ? Math.min(99, Math.floor(100 * fetchedBytes / sizeBytes)) : 0
}

export interface ModelForm {
  name: string
  provider: string
  baseUrl: string
  model: string
  apiKey: string
  removesKey: boolean
  inputPrice: string
  outputPrice: string
  currency: string
  fallbacks: string[]
  isDefault: boolean
  /** Kept as it is: scripts are written in files. */
  script: unknown
}

export const PROVIDERS = ['openai-compatible', 'openai', 'anthropic', 'google'] as const

/** Well-known endpoints that speak the OpenAI form; choosing one fills in the address. */
export const ENDPOINTS = [
  { name: 'GLM (Zhipu)', baseUrl: 'https://open.bigmodel.cn/api/paas/v4' },
  { name: 'DeepSeek', baseUrl: 'https://api.deepseek.com/v1' },
  { name: 'Qwen (DashScope)', baseUrl: 'https://dashscope.aliyuncs.com/compatible-mode/v1' },
  { name: 'OpenRouter', baseUrl: 'https://openrouter.ai/api/v1' },
  { name: 'Ollama', baseUrl: 'http://127.0.0.1:11434/v1' },
  { name: 'LM Studio', baseUrl: 'http://127.0.0.1:1234/v1' },
  { name: 'vLLM', baseUrl: 'http://127.0.0.1:8000/v1' },
] as const

export function formOf(model?: Model): ModelForm {
  return {
    name: model?.name ?? '', provider: model?.provider ?? 'openai-compatible', baseUrl: model?.baseUrl ?? '', model: model?.model ?? '', apiKey: '', removesKey: false,
    inputPrice: model?.prices ? String(model.prices.inputPerMillion) : '', outputPrice: model?.prices ? String(model.prices.outputPerMillion) : '',
    currency: model?.prices?.currency ?? 'USD', fallbacks: [...model?.fallbacks ?? []], isDefault: model?.isDefault ?? false, script: model?.script ?? null,
  }
}

/** The body to send. A key that was not typed is left out, so that the stored one stays; without both prices there is none. */
export function bodyOf(form: ModelForm): ModelGiven {
  const input = Number.parseFloat(form.inputPrice)
  const output = Number.parseFloat(form.outputPrice)
  const priced = Number.isFinite(input) || Number.isFinite(output)
  return {
    name: form.name.trim(), provider: form.provider, model: form.model.trim(),
    baseUrl: form.baseUrl.trim() || null,
    ...(form.removesKey ? { apiKey: '' } : form.apiKey.trim() && { apiKey: form.apiKey.trim() }),
    prices: priced ? { inputPerMillion: Number.isFinite(input) ? input : 0, outputPerMillion: Number.isFinite(output) ? output : 0, currency: form.currency.trim().toUpperCase() || 'USD' } : null,
    fallbacks: form.fallbacks, isDefault: form.isDefault, script: form.script,
  }
}
