/**
 * The design tokens: every colour and size of the page, in one place.
 *
 * The style sheet is spelled out from here when the page is built, and Naive UI gets the literals,
 * because it mixes colours itself and cannot read `var(--x)` (https://github.com/tusen-ai/naive-ui/issues/5241).
 * Components name the CSS variables only: `var(--ink)`, `font: 500 var(--t-12) var(--font)`.
 */

export type Theme = 'light' | 'dark'

const light = {
  // ground
  'bg': '#f5f6f8', 'canvas': '#fafbfc', 'dot': '#dfe3ea',
  'surface': '#ffffff', 'surface-2': '#f3f4f7', 'surface-3': '#e9ecf1',
  'line': '#e4e7ed', 'line-strong': '#c9cfd9', 'field-line': '#858d9b', 'edge': '#aeb6c3',
  'ink': '#14171f', 'ink-2': '#434a59', 'ink-3': '#626a7a', 'on-ink': '#ffffff',
  'scrim': 'rgb(20 23 31 / .36)',
  // leaving the drawing, going back
  'fly': '#3a45d4', 'fly-soft': '#eceefe', 'fly-line': '#6b78ec', 'on-fly': '#ffffff',
  // status: text and stroke, soft ground
  'pending': '#626a7a', 'pending-soft': '#f3f4f7',
  'running': '#0b6fc0', 'running-soft': '#e6f2fc',
  'success': '#1a7a48', 'success-soft': '#e7f5ed',
  'failed': '#bf2c38', 'failed-soft': '#fcebec',
  'paused': '#8f5a00', 'paused-soft': '#fff3da', 'paused-mark': '#e59a1f', 'on-paused': '#261a00',
  'skipped': '#626a7a', 'skipped-soft': '#f3f4f7',
  'cancelled': '#434a59', 'cancelled-soft': '#e9ecf1',
  // how often a node was visited: text, ground
  'iter-1': '#626a7a', 'iter-1-soft': '#eef0f4',
  'iter-2': '#a8480a', 'iter-2-soft': '#ffefe0',
  'iter-3': '#b3261e', 'iter-3-soft': '#fde9e7',
  // change
  'added': '#1a7a48', 'added-soft': '#e7f5ed', 'changed': '#8f5a00', 'changed-soft': '#fff3da',
  'shadow-1': '0 1px 2px rgb(20 23 31 / .06)',
  'shadow-2': '0 1px 2px rgb(20 23 31 / .06), 0 6px 16px -6px rgb(20 23 31 / .12)',
  'shadow-3': '0 2px 6px rgb(20 23 31 / .08), 0 18px 48px -12px rgb(20 23 31 / .24)',
} as const

export type ColourToken = keyof typeof light

const dark: Record<ColourToken, string> = {
  'bg': '#0d0f13', 'canvas': '#101318', 'dot': '#232833',
  'surface': '#171a21', 'surface-2': '#1e222b', 'surface-3': '#282d38',
  'line': '#272c37', 'line-strong': '#434b5a', 'field-line': '#6f7889', 'edge': '#4b5464',
  'ink': '#eceff4', 'ink-2': '#b9c1ce', 'ink-3': '#8f98a8', 'on-ink': '#0d0f13',
  'scrim': 'rgb(0 0 0 / .56)',
  'fly': '#9aa5ff', 'fly-soft': '#23284f', 'fly-line': '#7f8bff', 'on-fly': '#0d0f26',
  'pending': '#8f98a8', 'pending-soft': '#1e222b',
  'running': '#62b9ff', 'running-soft': '#11283c',
  'success': '#62cf92', 'success-soft': '#12301f',
  'failed': '#ff8f93', 'failed-soft': '#3b1a1e',
  'paused': '#f2b84b', 'paused-soft': '#35280f', 'paused-mark': '#f2b84b', 'on-paused': '#261a00',
  'skipped': '#8f98a8', 'skipped-soft': '#1e222b',
  'cancelled': '#b9c1ce', 'cancelled-soft': '#282d38',
  'iter-1': '#a3abb9', 'iter-1-soft': '#252a34',
  'iter-2': '#ffb072', 'iter-2-soft': '#3a2614',
  'iter-3': '#ff9a92', 'iter-3-soft': '#3d1c1a',
  'added': '#62cf92', 'added-soft': '#12301f', 'changed': '#f2b84b', 'changed-soft': '#35280f',
  'shadow-1': '0 1px 2px rgb(0 0 0 / .4)',
  'shadow-2': '0 1px 2px rgb(0 0 0 / .4), 0 8px 20px -6px rgb(0 0 0 / .5)',
  'shadow-3': '0 2px 6px rgb(0 0 0 / .5), 0 20px 56px -12px rgb(0 0 0 / .7)',
}

export const colours: Record<Theme, Record<ColourToken, string>> = { light, dark }

/** Sizes, type, motion: the same in both themes. Type tokens are `size/line height`, for the `font` shorthand. */
export const measures = {
  'font': 'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", "Noto Sans SC", sans-serif',
  'mono': '"JetBrains Mono", ui-monospace, "SF Mono", Menlo, Consolas, "Cascadia Mono", "Noto Sans Mono CJK SC", "Noto Sans CJK SC", monospace',
  't-11': '11px/16px', 't-12': '12px/18px', 't-13': '13px/20px', 't-14': '14px/22px',
  't-16': '16px/24px', 't-20': '20px/28px', 't-28': '28px/36px',
  's-1': '4px', 's-2': '8px', 's-3': '12px', 's-4': '16px', 's-5': '20px', 's-6': '24px', 's-8': '32px', 's-12': '48px',
  'r-1': '4px', 'r-2': '6px', 'r-3': '10px', 'r-4': '14px', 'r-full': '999px',
  'fast': '120ms', 'calm': '200ms', 'travel': '480ms',
  'ease': 'cubic-bezier(.2, .7, .2, 1)',
  'focus': '0 0 0 2px var(--surface), 0 0 0 4px var(--ink)',
} as const

const STILL = { fast: '0ms', calm: '0ms', travel: '0ms' }

function declarations(values: Record<string, string>): string {
  return Object.entries(values).map(([name, value]) => `  --${name}: ${value};`).join('\n')
}

/** The style sheet with every token as a CSS variable, for both themes. */
export function tokensCss(): string {
  return [
    `:root, [data-theme="light"] {\n  color-scheme: light;\n${declarations(light)}\n}`,
    `[data-theme="dark"] {\n  color-scheme: dark;\n${declarations(dark)}\n}`,
    `:root {\n${declarations(measures)}\n}`,
    `@media (prefers-reduced-motion: reduce) {\n:root {\n${declarations(STILL)}\n}\n}`,
    '',
  ].join('\n')
}
