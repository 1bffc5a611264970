// A tenant's secrets: made if it has none, kept in one file of the owner's, handed to wrangler through its input.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { newSecrets, parseVars } from '../../dev-vars.mjs'

const header =
  '# Keys of one deployment, made by `isola deploy`. Whoever has them is its operator.\n'
const nextOf = (name) => `${name}_NEXT`

/** The key file: read whole, replaced whole, readable by its owner only. */
export function openKeys(path) {
  const vars = existsSync(path) ? parseVars(readFileSync(path, 'utf8')) : {}
  const save = () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const lines = Object.entries(vars).map(([name, value]) => `${name}=${value}\n`)
    // A crash in the middle of a write must not cost the only copy.
    const draft = `${path}.${process.pid}.tmp`
    writeFileSync(draft, header + lines.join(''), { mode: 0o600 })
    renameSync(draft, path)
  }
  return {
    get: (name) => vars[name],
    /** A value that is to be put: written down before anybody is told it. */
    propose(name, value) {
      vars[nextOf(name)] = value
      save()
    },
    proposed: (name) => vars[nextOf(name)],
    accept(name) {
      vars[name] = vars[nextOf(name)]
      delete vars[nextOf(name)]
      save()
    },
    values: () => Object.values(vars),
  }
}

/**
 * Makes sure that the Worker has each secret. One that it has is never replaced, unless `rotate` names it.
 *
 * The value is in the key file as proposed before it is put, and becomes the valid one after: wherever this breaks, the
 * next run puts the same value again.
 * @param options.onNew Told each value that was made now, once it is valid.
 * @returns By name `kept`, `put`, or `elsewhere`: the Worker has it, this machine does not.
 */
export async function ensureSecrets(wrangler, options) {
  const { keys, secrets, configPath, rotate = [], onNew } = options
  const config = ['--config', configPath]
  const rows = await wrangler.json(['secret', 'list', '--format', 'json', ...config])
  const there = new Set(rows.map(({ name }) => name))
  const states = {}
  for (const [name, make] of Object.entries(newSecrets)) {
    const isWanted = !there.has(name) || rotate.includes(name) || keys.proposed(name)
    if (!isWanted) {
      states[name] = keys.get(name) ? 'kept' : 'elsewhere'
      continue
    }
    // A Worker that lost its secret gets the one that this machine kept.
    const kept = there.has(name) ? undefined : keys.get(name)
    if (!keys.proposed(name)) keys.propose(name, kept ?? make())
    const value = keys.proposed(name)
    secrets.add(value)
    await wrangler.run(['secret', 'put', name, ...config], { input: value })
    keys.accept(name)
    states[name] = kept === value ? 'restored' : 'put'
    if (states[name] === 'put') onNew(name, value)
  }
  return states
}
