/**
 * What the browser fetches for the first view of each page: the entry, the page's chunk, all they import,
 * their style sheets, and the words of one language. Gzip; fails above the limit.
 */
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'

const LIMIT_KB = 350
const dist = new URL('../dist/', import.meta.url)
const manifest = JSON.parse(readFileSync(new URL('.vite/manifest.json', dist), 'utf8'))

const sizes = new Map()
function size(file) {
  if (!sizes.has(file)) sizes.set(file, gzipSync(readFileSync(new URL(file, dist))).length)
  return sizes.get(file)
}

function filesOf(key, seen = new Set()) {
  const chunk = manifest[key]
  if (seen.has(chunk.file)) return seen
  seen.add(chunk.file)
  for (const sheet of chunk.css ?? []) seen.add(sheet)
  for (const imported of chunk.imports ?? []) filesOf(imported, seen)
  return seen
}

const sum = files => [...files].reduce((total, file) => total + size(file), 0)
const pages = Object.keys(manifest).filter(key => /Page\.vue$/.test(key)).sort()
const languages = Object.keys(manifest).filter(key => /locales\/[\w-]+\/index\.ts$/.test(key))

const rows = pages.map((page) => {
  const bytes = Math.max(...languages.map(language => sum(filesOf(page, filesOf(language, filesOf('index.html'))))))
  return { page: page.replace('src/', ''), kB: Math.round(bytes / 1000) }
})
for (const { page, kB } of rows) console.log(`${String(kB).padStart(5)} kB  ${page}`)

const over = rows.filter(row => row.kB > LIMIT_KB)
if (rows.length === 0 || over.length > 0) {
  console.error(rows.length === 0 ? 'No pages found in the manifest.' : `Over ${LIMIT_KB} kB: ${over.map(row => row.page).join(', ')}`)
  process.exit(1)
}
