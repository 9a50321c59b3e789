/** Naive UI's theme, spelled out from the design tokens: ink on paper, no colour of its own. */
import type { GlobalThemeOverrides } from 'naive-ui'
import { colours, measures, type Theme } from './tokens'

export function naiveOverrides(theme: Theme): GlobalThemeOverrides {
  const c = colours[theme]
  return {
    common: {
      fontFamily: measures.font, fontFamilyMono: measures.mono,
      fontSize: '13px', fontSizeMini: '12px', fontSizeTiny: '12px', fontSizeSmall: '13px', fontSizeMedium: '13px', fontSizeLarge: '14px',
      lineHeight: '1.54', borderRadius: measures['r-2'], borderRadiusSmall: measures['r-1'],
      primaryColor: c.ink, primaryColorHover: c['ink-2'], primaryColorPressed: c.ink, primaryColorSuppl: c['ink-2'],
      infoColor: c.running, successColor: c.success, warningColor: c.paused, errorColor: c.failed,
      textColorBase: c.ink, textColor1: c.ink, textColor2: c.ink, textColor3: c['ink-3'], textColorDisabled: c['ink-3'],
      placeholderColor: c['ink-3'], iconColor: c['ink-2'],
      bodyColor: c.bg, cardColor: c.surface, modalColor: c.surface, popoverColor: c.surface, inputColor: c.surface, tableColor: c.surface,
      borderColor: c['field-line'], dividerColor: c.line, hoverColor: c['surface-2'], actionColor: c['surface-2'],
      tableHeaderColor: c.surface, tableColorHover: c['surface-2'],
      boxShadow1: c['shadow-1'], boxShadow2: c['shadow-2'], boxShadow3: c['shadow-3'],
    },
    Button: { textColorPrimary: c['on-ink'], textColorHoverPrimary: c['on-ink'], textColorPressedPrimary: c['on-ink'], textColorFocusPrimary: c['on-ink'], fontWeight: '500' },
    Switch: { railColorActive: c.ink, buttonColor: c.surface },
    Checkbox: { checkMarkColor: c['on-ink'] },
    Tooltip: { color: c.ink, textColor: c['on-ink'] },
  }
}
