/**
 * Numbers, times and sizes as people read them, in English and Chinese. Pure: language and now are handed in.
 */

export type Language = 'en' | 'zh-CN'

const unit = (language: Language, name: string, value: number, digits = 0) =>
  new Intl.NumberFormat(language, { style: 'unit', unit: name, unitDisplay: 'short', minimumFractionDigits: digits, maximumFractionDigits: digits })
    .format(value).replace(/^([\d.,]+)(?=\p{Script=Han})/u, '$1 ')

/** `40 ms`, `0.4 s`, `12 s`, `4 min 12 s`, `2 h 5 min`. */
export function formatDuration(ms: number, language: Language): string {
  if (ms < 95) return unitShort(language, 'millisecond', Math.round(ms))
  const seconds = ms / 1000
  if (seconds < 9.95) return unitShort(language, 'second', seconds, 1)
  const whole = Math.round(seconds)
  if (whole < 60) return unitShort(language, 'second', whole)
  if (whole < 3600) return join([['minute', Math.floor(whole / 60)], ['second', whole % 60]], language)
  if (whole < 86_400) return join([['hour', Math.floor(whole / 3600)], ['minute', Math.floor(whole % 3600 / 60)]], language)
  return join([['day', Math.floor(whole / 86_400)], ['hour', Math.floor(whole % 86_400 / 3600)]], language)
}

const SHORT: Record<string, string> = { millisecond: 'ms', second: 's', minute: 'min', hour: 'h', day: 'd' }

function unitShort(language: Language, name: string, value: number, digits = 0): string {
  return language === 'en' ? `${value.toFixed(digits)} ${SHORT[name] ?? name}` : unit(language, name, value, digits)
}

function join(parts: [string, number][], language: Language): string {
  return parts.filter(([, value], index) => index === 0 || value > 0).map(([name, value]) => unitShort(language, name, value)).join(' ')
}

/** `12,480`. */
export function formatNumber(value: number, language: Language): string {
  return new Intl.NumberFormat(language).format(value)
}

/** `980 tok`, `21.5k tok`, `1.2M tok`; in Chinese `980 Token`, `2.1万 Token`. */
export function formatTokens(value: number, language: Language): string {
  if (language === 'zh-CN') return `${new Intl.NumberFormat(language, value < 10_000 ? {} : { notation: 'compact', maximumFractionDigits: 1 }).format(value)} Token`
  if (value < 10_000) return `${new Intl.NumberFormat('en').format(value)} tok`
  if (value < 999_500) return `${trim(value / 1000)}k tok`
  return `${trim(value / 1_000_000)}M tok`
}

/** `42 tok/s`. */
export function formatTokenPace(perSecond: number, language: Language): string {
  return language === 'zh-CN' ? `${perSecond} Token/秒` : `${perSecond} tok/s`
}

const trim = (value: number) => value.toFixed(1).replace(/\.0$/, '')

/** A price with as many digits as it needs to be told from nothing: `$0.038`, `¥1.20`. */
export function formatCost(cost: number, currency: string | null | undefined, language: Language): string {
  const digits = cost !== 0 && Math.abs(cost) < 0.1 ? 2 + Math.ceil(-Math.log10(Math.abs(cost) * 10)) : 2
  return new Intl.NumberFormat(language, {
    style: 'currency', currency: currency ?? 'USD', currencyDisplay: 'narrowSymbol', minimumFractionDigits: 2, maximumFractionDigits: Math.min(6, digits),
  }).format(cost)
}

/** `512 B`, `64 KiB`, `1.1 GiB`. */
export function formatBytes(bytes: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  const power = bytes < 1 ? 0 : Math.min(names.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** power
  return `${value >= 100 || power === 0 ? value.toFixed(0) : trim(value)} ${names[power] ?? 'B'}`
}

/** Relative up to a day (`4 min ago`), `yesterday 18:40`, then the date. */
export function formatRelative(then: Date, now: Date, language: Language): string {
  const seconds = (then.getTime() - now.getTime()) / 1000
  const format = new Intl.RelativeTimeFormat(language, { numeric: 'auto', style: 'short' })
  const relative = { format: (value: number, unit: Intl.RelativeTimeFormatUnit) => format.format(value, unit).replace('.', '') }
  const distance = Math.abs(seconds)
  if (distance < 45) return language === 'en' ? 'just now' : '刚刚'
  if (distance < 3570) return relative.format(Math.round(seconds / 60), 'minute')
  if (distance < 86_400) return relative.format(Math.round(seconds / 3600), 'hour')
  const time = new Intl.DateTimeFormat(language, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(then)
  if (distance < 172_800) return `${new Intl.RelativeTimeFormat(language, { numeric: 'auto' }).format(seconds < 0 ? -1 : 1, 'day')} ${time}`
  const date = new Intl.DateTimeFormat(language, { day: 'numeric', month: 'short', year: then.getFullYear() === now.getFullYear() ? undefined : 'numeric' }).format(then)
  return `${date} ${time}`
}

/** The exact time, for tooltips: date, seconds and zone. */
export function formatExact(then: Date, language: Language): string {
  return new Intl.DateTimeFormat(language, { year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23', timeZoneName: 'short' }).format(then)
}
