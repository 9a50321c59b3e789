/** The tabs of the editor's panel, as the address names them. */
export const RUN_TABS = ['visits', 'decisions', 'result', 'inputs'] as const
export type RunTab = typeof RUN_TABS[number]
export type PanelTab = RunTab | 'problems' | 'details'

export function isPanelTab(value: unknown): value is PanelTab {
  return value === 'problems' || value === 'details' || (RUN_TABS as readonly unknown[]).includes(value)
}

/** How much of the window the panel takes where it is a sheet at its foot. */
export const SHEET_SIZES = ['peek', 'half', 'full'] as const
export type SheetSize = typeof SHEET_SIZES[number]
/** Below this width the panel is a sheet at the window's foot. */
export const NARROW = '(max-width: 899px)'
