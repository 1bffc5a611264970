// Every protection at a border of trust, from the `switches.mjs` beside the tests that hold it up.
import { globSync } from 'node:fs'
import { join, posix, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from '../../scripts/toolchain.mjs'

const tables = globSync('test/**/switches.mjs', { cwd: root }).map((path) =>
  path.split(sep).join('/'),
)

/** The tables' entries; `test` is the path of its file, `project` what runs it. */
export const switches = (
  await Promise.all(
    tables.toSorted().map(async (path) => {
      const { default: table } = await import(pathToFileURL(join(root, path)).href)
      return table.map((one) => ({
        ...one,
        test: posix.join(posix.dirname(path), one.test),
        project: one.test.endsWith('.workers.test.ts') ? 'workers' : 'unit',
      }))
    }),
  )
).flat()
