/** Texts, by the parts of their keys. */
export interface Messages { [part: string]: string | Messages }

/** Puts each file's texts under the file's name: `./runs.json` becomes `runs.…`. */
export function byFeature(files: Record<string, Messages>): Record<string, Messages> {
  return Object.fromEntries(Object.entries(files).map(([path, texts]) => [path.replace(/^\.\/|\.json$/g, ''), texts]))
}
