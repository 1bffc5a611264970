// Takes one protection away while its file is loaded. In tests only: `src/` knows nothing of this, and no bundle is
// built with it.
import { appendFileSync } from 'node:fs'
import { sep } from 'node:path'

/** Names the one switch that is off. */
export const offVariable = 'ISOLA_SWITCH_OFF'
/** A file that the name is written to once it has really been taken away. */
export const markVariable = 'ISOLA_SWITCH_MARK'

/** The text of a file without its protection. Throws if what is to be taken away is not there exactly once. */
export function withoutProtection(text, { name, file, find, replace }) {
  const count = text.split(find).length - 1
  if (count !== 1) throw new Error(`switch "${name}": found ${count} times in ${file}`)
  return text.replace(find, () => replace)
}

/** A vite plugin for each project of the tests; without the variable it does nothing. */
export async function switchedOff(off = process.env[offVariable]) {
  if (!off) return { name: 'isola-switched-off' }
  const { switches } = await import('./all.mjs')
  const found = switches.find(({ name }) => name === off)
  if (!found) throw new Error(`${offVariable}: there is no switch named "${off}"`)
  return {
    name: 'isola-switched-off',
    enforce: 'pre',
    transform(text, id) {
      const path = id.split('?')[0].split(sep).join('/')
      if (!path.endsWith(`/${found.file}`)) return undefined
      const mark = process.env[markVariable]
      const code = withoutProtection(text, found)
      if (mark) appendFileSync(mark, `${found.name}\n`)
      return { code, map: null }
    },
  }
}
