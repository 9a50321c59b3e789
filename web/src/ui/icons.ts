/**
 * The page's line icons, drawn on 16 × 16. A node type names its icon here too (`/node-types` gives the name); where only
 * the type is known, `nodeIcon` has the names of those that are built in.
 */

const F = ' fill="currentColor" stroke="none"'

export const icons = {
  // pages
  workflows: '<circle cx="3.5" cy="4" r="2"/><circle cx="12.5" cy="12" r="2"/><path d="M5.5 4h4a2.5 2.5 0 0 1 0 5h-3a1.5 1.5 0 0 0 0 3h4"/>',
  runs: '<path d="M2.5 3.5h11M2.5 8h7M2.5 12.5h9"/>',
  inbox: '<path d="M2 9l2-6h8l2 6v4H2zM2 9h3.5a2.5 2.5 0 0 0 5 0H14"/>',
  models: '<rect x="4" y="4" width="8" height="8" rx="2"/><path d="M6.5 1.5V4M9.5 1.5V4M6.5 12v2.5M9.5 12v2.5M1.5 6.5H4M1.5 9.5H4M12 6.5h2.5M12 9.5h2.5"/>',
  skills: '<path d="M3 3.2c1.8-.7 3.5-.5 5 .6 1.5-1.1 3.2-1.3 5-.6v9.3c-1.8-.7-3.5-.5-5 .6-1.500-1.100-3.200-1.300-5-.6zM8 3.800v9.300"/>',
  settings: '<circle cx="8" cy="8" r="2.2"/><path d="M8 1.500v2M8 12.500v2M1.500 8h2M12.500 8h2M3.400 3.400l1.400 1.400M11.200 11.200l1.400 1.400M3.400 12.600l1.400-1.400M11.200 4.800l1.400-1.400"/>',
  // actions
  search: '<circle cx="7" cy="7" r="4.3"/><path d="M10.300 10.300L14 14"/>',
  plus: '<path d="M8 3v10M3 8h10"/>',
  close: '<path d="M4 4l8 8M12 4l-8 8"/>',
  check: '<path d="M3.500 8.500l3 3 6-7"/>',
  more: '<path d="M3.500 8h.01M8 8h.01M12.500 8h.01" stroke-width="2.400"/>',
  download: '<path d="M8 2v8M5 7l3 3 3-3M3 13h10"/>',
  upload: '<path d="M8 10V2M5 5l3-3 3 3M3 13h10"/>',
  play: `<path d="M5 3.200v9.600l8-4.800z"${F}/>`,
  pause: '<path d="M5.500 3.500v9M10.500 3.500v9" stroke-width="2"/>',
  stop: `<rect x="4" y="4" width="8" height="8" rx="1.500"${F}/>`,
  duplicate: '<rect x="5.500" y="5.500" width="8" height="8" rx="2"/><path d="M10.500 5.500V4a1.500 1.500 0 0 0-1.500-1.500H4A1.500 1.500 0 0 0 2.500 4v5A1.500 1.500 0 0 0 4 10.500h1.500"/>',
  trash: '<path d="M2.500 4.500h11M6 4.500V3h4v1.500M4 4.500l.6 8.500h6.800l.6-8.500M6.700 7v3.500M9.300 7v3.500"/>',
  edit: '<path d="M10.500 3l2.500 2.500-7 7-3 .5.5-3zM9 4.500L11.500 7"/>',
  copy: '<rect x="5.500" y="5.500" width="8" height="8" rx="2"/><path d="M10.500 5.500V4a1.500 1.500 0 0 0-1.500-1.500H4A1.500 1.500 0 0 0 2.500 4v5A1.500 1.500 0 0 0 4 10.500h1.500"/>',
  undo: '<path d="M5.500 3L2.500 6l3 3M2.500 6H10a3.500 3.500 0 0 1 0 7H6"/>',
  redo: '<path d="M10.500 3l3 3-3 3M13.500 6H6a3.500 3.500 0 0 0 0 7h4"/>',
  fit: '<path d="M2.500 6V2.500H6M10 2.500h3.500V6M13.500 10v3.500H10M6 13.500H2.500V10"/>',
  layout: '<rect x="1.500" y="6" width="4" height="4" rx="1"/><rect x="10.500" y="2" width="4" height="4" rx="1"/><rect x="10.500" y="10" width="4" height="4" rx="1"/><path d="M5.500 8H8V4h2.500M8 8v4h2.500"/>',
  link: '<path d="M6.500 9.500l3-3M7 4.500l1-1a3 3 0 0 1 4.200 4.200l-1 1M9 11.500l-1 1a3 3 0 0 1-4.200-4.200l1-1"/>',
  external: '<path d="M9 2.500h4.500V7M13.500 2.500L7.500 8.500M11.500 9v4.500h-9v-9H7"/>',
  key: '<circle cx="5" cy="11" r="2.700"/><path d="M7 9l6-6M10.500 5.500L12.500 7.500"/>',
  globe: '<circle cx="8" cy="8" r="5.800"/><path d="M2.200 8h11.600M8 2.200c2 1.700 2.600 3.700 2.600 5.800s-.6 4.100-2.600 5.800c-2-1.700-2.600-3.700-2.600-5.800S6 3.900 8 2.200z"/>',
  sun: '<circle cx="8" cy="8" r="3"/><path d="M8 1.500v1.300M8 13.200v1.300M1.500 8h1.300M13.200 8h1.300M3.400 3.400l.9.900M11.700 11.700l.9.900M3.400 12.600l.9-.9M11.700 4.300l.9-.9"/>',
  moon: '<path d="M13 9.600A5.600 5.600 0 0 1 6.400 3a5.500 5.500 0 1 0 6.600 6.600z"/>',
  clock: '<circle cx="8" cy="8" r="5.800"/><path d="M8 4.800V8l2.200 1.500"/>',
  compass: '<circle cx="8" cy="8" r="5.800"/><path d="M10.500 5.500L9 9 5.500 10.500 7 7z"/>',
  warning: '<path d="M8 2.500l6 10.500H2zM8 6.500v3M8 11.300v.01"/>',
  info: '<circle cx="8" cy="8" r="5.800"/><path d="M8 7.300v3.500M8 5.200v.01"/>',
  pin: '<path d="M5.500 2.500h5L10 7l2 2.500H4L6 7zM8 9.500V14"/>',
  sort: '<path d="M5 3v10M2.500 10.500L5 13l2.500-2.500M11 13V3M8.500 5.500L11 3l2.500 2.500"/>',
  file: '<path d="M4 1.800h5l3.500 3.500v9H4zM9 1.800v3.500h3.500"/>',
  folder: '<path d="M1.800 4.300v8.200h12.400V5.300H8L6.300 3.500H1.800z"/>',
  keyboard: '<rect x="1.500" y="4" width="13" height="8.500" rx="1.500"/><path d="M4 6.700h.01M6.700 6.700h.01M9.300 6.700h.01M12 6.700h.01M5 9.800h6"/>',
  refresh: '<path d="M13 8a5 5 0 1 1-1.500-3.600M13 2.500v3h-3"/>',
  minus: '<path d="M3 8h10"/>',
  map: '<path d="M2 4l4-1.500 4 1.500 4-1.500v9.500l-4 1.500-4-1.500-4 1.500zM6 2.500v9.500M10 4v9.500"/>',
  outline: '<path d="M2.500 3.500h11M5.500 8h8M5.500 12.500h8M2.500 8h.01M2.500 12.500h.01"/>',
  braces: '<path d="M6 2.500c-1.500 0-2 .7-2 2v1.700C4 7.300 3.500 8 2.500 8 3.500 8 4 8.700 4 9.800v1.700c0 1.300.5 2 2 2M10 2.500c1.500 0 2 .7 2 2v1.700c0 1.100.5 1.800 1.500 1.800-1 0-1.500.7-1.500 1.800v1.700c0 1.300-.5 2-2 2"/>',
  alignLeft: '<path d="M2.500 2v12"/><rect x="4.500" y="3.500" width="8" height="3" rx="1"/><rect x="4.500" y="9.500" width="5" height="3" rx="1"/>',
  alignCentre: '<path d="M8 2v1.500M8 6.500v3M8 12.500V14"/><rect x="3.500" y="3.500" width="9" height="3" rx="1"/><rect x="5" y="9.500" width="6" height="3" rx="1"/>',
  alignRight: '<path d="M13.500 2v12"/><rect x="3.500" y="3.500" width="8" height="3" rx="1"/><rect x="6.500" y="9.500" width="5" height="3" rx="1"/>',
  alignTop: '<path d="M2 2.500h12"/><rect x="3.500" y="4.500" width="3" height="8" rx="1"/><rect x="9.500" y="4.500" width="3" height="5" rx="1"/>',
  alignMiddle: '<path d="M2 8h1.500M6.500 8h3M12.500 8H14"/><rect x="3.500" y="3.500" width="3" height="9" rx="1"/><rect x="9.500" y="5" width="3" height="6" rx="1"/>',
  alignBottom: '<path d="M2 13.500h12"/><rect x="3.500" y="3.500" width="3" height="8" rx="1"/><rect x="9.500" y="6.500" width="3" height="5" rx="1"/>',
  distributeH: '<path d="M2.500 2.500v11M13.500 2.500v11"/><rect x="6" y="4.500" width="4" height="7" rx="1"/>',
  distributeV: '<path d="M2.500 2.500h11M2.500 13.500h11"/><rect x="4.500" y="6" width="7" height="4" rx="1"/>',
  history: '<path d="M2.500 8a5.500 5.500 0 1 0 1.700-4M2.500 2.500V5H5M8 5v3l2 1.500"/>',
  // directions
  up: '<path d="M4 10l4-4 4 4"/>', down: '<path d="M4 6l4 4 4-4"/>',
  left: '<path d="M10 4L6 8l4 4"/>', right: '<path d="M6 4l4 4-4 4"/>',
  arrowLeft: '<path d="M13 8H3M6.500 4.500L3 8l3.500 3.500"/>', arrowRight: '<path d="M3 8h10M9.500 4.500L13 8l-3.500 3.500"/>',
  // node types, by the names that `/node-types` gives
  sparkles: '<path d="M8 2l1.300 3.700L13 7l-3.700 1.300L8 12 6.700 8.300 3 7l3.700-1.300zM12.800 11.500v2.500M11.500 12.800H14"/>',
  robot: '<rect x="3" y="5.500" width="10" height="7.500" rx="2.500"/><path d="M8 5.500V3M6 9v.5M10 9v.5"/><circle cx="8" cy="2.300" r=".8"/>',
  book: '<path d="M3 3.200c1.800-.7 3.500-.5 5 .6 1.500-1.100 3.200-1.300 5-.6v9.300c-1.800-.7-3.500-.5-5 .6-1.500-1.100-3.200-1.300-5-.6zM8 3.800v9.300"/>',
  branch: '<path d="M2 8h4l4-4h4M6 8l4 4h4"/>',
  wand: '<path d="M3 13l7-7M9 3l.6 1.400L11 5l-1.400.6L9 7l-.6-1.400L7 5l1.400-.6zM12.500 8l.4 1.100 1.100.4-1.100.4-.4 1.100-.4-1.100-1.100-.4 1.100-.4z"/>',
  hand: '<path d="M5 9V4a1 1 0 0 1 2 0v3.500M7 7.500V2.800a1 1 0 0 1 2 0v4.700M9 7.500V3.800a1 1 0 0 1 2 0v4.200M11 8V5.800a1 1 0 0 1 2 0V10a4 4 0 0 1-4 4c-1.900 0-3-.8-4-2.400L2.700 9.300a1 1 0 0 1 1.600-1.200L5 9"/>',
  user: '<circle cx="8" cy="5" r="2.700"/><path d="M2.800 13.500c.5-3 2.600-4.500 5.200-4.500s4.700 1.500 5.200 4.500"/>',
  text: '<path d="M3 3h10M3 6.500h6M3 10h10M3 13.500h4"/>',
  code: '<path d="M5.500 4.500L2 8l3.500 3.500M10.500 4.500L14 8l-3.500 3.500"/>',
  tool: '<path d="M13.500 4.300a3.300 3.300 0 0 1-4.400 4l-4.600 4.900a1.300 1.300 0 0 1-1.800-1.800l4.900-4.600a3.300 3.300 0 0 1 4-4.400L9.700 4.300l.3 1.700 1.700.3z"/>',
  workflow: '<rect x="2" y="2.500" width="5" height="4" rx="1"/><rect x="9" y="9.500" width="5" height="4" rx="1"/><path d="M4.500 6.500v3A2 2 0 0 0 6.500 11.500H9"/>',
  iteration: '<path d="M3 7a4 4 0 0 1 4-3.500h5M10 1.500l2 2-2 2M13 9a4 4 0 0 1-4 3.500H4M6 10.500l-2 2 2 2"/>',
  merge: '<path d="M2 3.500h3l4 4.500h5M2 12.500h3L9 8M11.500 5.500L14 8l-2.500 2.500"/>',
  note: '<path d="M3 3h10v7l-3 3H3zM10 13v-3h3"/>',
  flag: '<path d="M4 14V2.500M4 3h8l-1.800 2.700L12 8.500H4"/>',
} as const

export type IconName = keyof typeof icons

export function isIconName(name: string): name is IconName {
  return Object.hasOwn(icons, name)
}

const OF_TYPE = new Map(Object.entries<IconName>({
  userInput: 'user', humanInput: 'hand', llm: 'sparkles', agent: 'robot', skill: 'book', condition: 'branch', template: 'text', http: 'globe', aggregate: 'merge', smartAction: 'wand', output: 'flag',
}))

/** The icon that a node's type names, else the one of its type's id, else that of any tool. */
export function nodeIcon(type: string, icon = ''): IconName {
  if (isIconName(icon)) return icon
  return OF_TYPE.get(type) ?? (isIconName(type) ? type : 'tool')
}
