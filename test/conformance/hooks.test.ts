import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import register from '../fixtures/plugins/hooks/main.ts'
import { loadOne } from '../fakes/plugins.ts'
import { describeHooks } from './describe-hooks.ts'

const folder = join(import.meta.dirname, '../fixtures/plugins/hooks')
const manifest: unknown = parse(readFileSync(join(folder, 'plugin.yaml'), 'utf8'))

describeHooks('in the Worker itself', {
  load() {
    const plugin = loadOne({ manifest, files: {}, hash: 'f'.repeat(64), register })
    let count = 0
    const hooks = Object.entries(plugin.parts.hooks ?? {}).map(([on, run]) => {
      const counted: typeof run = (...given) => {
        count += 1
        return run(...given)
      }
      return [on, counted] as const
    })
    const parts = { ...plugin.parts, hooks: Object.fromEntries(hooks) }
    return { plugin: { ...plugin, parts }, asked: () => count }
  },
})
