/** The six places of the main navigation, in order: route name (also the icon's), and the key that follows `G`. */
export const PLACES = [
  { name: 'workflows', key: 'w' },
  { name: 'runs', key: 'r' },
  { name: 'inbox', key: 'i' },
  { name: 'models', key: 'm' },
  { name: 'skills', key: 's' },
  { name: 'settings', key: 'e' },
] as const
