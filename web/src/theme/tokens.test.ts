import { describe, expect, it } from 'vitest'
import { colours, tokensCss, type ColourToken, type Theme } from './tokens'

function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map(at => parseInt(hex.slice(at, at + 2), 16) / 255).map(c => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

function contrast(theme: Theme, text: ColourToken, ground: ColourToken): number {
  const [light = 0, dark = 0] = [luminance(colours[theme][text]), luminance(colours[theme][ground])].sort((a, b) => b - a)
  return (light + 0.05) / (dark + 0.05)
}

const STATES = ['pending', 'running', 'success', 'failed', 'paused', 'skipped', 'cancelled', 'fly', 'iter-1', 'iter-2', 'iter-3', 'added', 'changed'] as const
const READ: [ColourToken, ColourToken][] = [
  ...(['ink', 'ink-2', 'ink-3'] as const).flatMap(text => (['bg', 'canvas', 'surface', 'surface-2'] as const).map((ground): [ColourToken, ColourToken] => [text, ground])),
  ...STATES.flatMap((state): [ColourToken, ColourToken][] => [[state, `${state}-soft`], [state, 'surface']]),
  ['on-ink', 'ink'], ['on-fly', 'fly'], ['on-paused', 'paused-mark'],
]

describe.each(['light', 'dark'] as const)('the %s theme', (theme) => {
  it.each(READ)('lets %s be read on %s', (text, ground) => {
    expect(contrast(theme, text, ground)).toBeGreaterThanOrEqual(4.5)
  })
  it('gives fields a border that can be seen', () => {
    expect(contrast(theme, 'field-line', 'surface')).toBeGreaterThanOrEqual(3)
  })
})

it('the style sheet names every token for both themes', () => {
  const css = tokensCss()
  for (const token of Object.keys(colours.light)) expect(css.split(`--${token}:`)).toHaveLength(3)
})
