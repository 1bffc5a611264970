// A tenant's secrets: made if it has none, kept in one file of the owner's, handed to wrangler through its input.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { newSecrets, parseVars } from '../../scripts/dev-vars.mjs'
import type { Wrangler } from './wrangler.ts'

const header =
  '# Keys of one deployment, made by `isola deploy`. A person who has them is its operator.\n'
const nextOf = (name: string) => `${name}_NEXT`

/** The key file: read whole, replaced whole, readable by its owner only. */
export function openKeys(path: string) {
  const vars: Record<string, string> = existsSync(path) ? parseVars(readFileSync(path, 'utf8')) : {}
  const save = () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const lines = Object.entries(vars).map(([name, value]) => `${name}=${value}\n`)
    // A crash in the middle of a write must not cost the only copy.
    const draft = `${path}.${process.pid}.tmp`
    writeFileSync(draft, header + lines.join(''), { mode: 0o600 })
    renameSync(draft, path)
  }
  return {
    get: (name: string): string | undefined => vars[name],
    /** A value that will be put: the file has it before a person reads it. */
    propose(name: string, value: string) {
      vars[nextOf(name)] = value
      save()
    },
    proposed: (name: string): string | undefined => vars[nextOf(name)],
    accept(name: string) {
      const { [nextOf(name)]: value } = vars
      if (value !== undefined) vars[name] = value
      Reflect.deleteProperty(vars, nextOf(name))
      save()
    },
    values: () => Object.values(vars),
  }
}

export type Keys = ReturnType<typeof openKeys>
/** The outcome for a secret. */
type SecretState = 'kept' | 'put' | 'restored' | 'elsewhere'

/** The names of the secrets that a Worker has. */
export async function namesOfSecrets(wrangler: Wrangler, configPath: string) {
  const list = ['secret', 'list', '--format', 'json', '--config', configPath]
  return (await wrangler.json<readonly { readonly name: string }[]>(list)).map(({ name }) => name)
}

interface SecretOptions {
  readonly keys: Keys
  readonly secrets: Set<string>
  readonly configPath: string
  readonly rotate?: readonly string[]
  readonly onNew: (name: string, value: string) => unknown
}

/**
 * Makes sure that the Worker has each secret. An existing secret is never replaced, unless `rotate` names it.
 *
 * The key file gets the value as proposed before the Worker gets it, and as valid after: wherever this breaks, the next
 * run
 * puts the same value again.
 * @param options.onNew Called with each new value, once it is valid.
 * @returns By name `kept`, `put`, or `elsewhere`: the Worker has it, this machine does not.
 */
export async function ensureSecrets(
  wrangler: Wrangler,
  options: SecretOptions,
): Promise<Readonly<Record<string, SecretState>>> {
  const { keys, secrets, configPath, rotate = [], onNew } = options
  const config = ['--config', configPath]
  const there = await namesOfSecrets(wrangler, configPath)
  const states: Record<string, SecretState> = {}
  for (const [name, make] of Object.entries(newSecrets)) {
    const isWanted = !there.includes(name) || rotate.includes(name) || keys.proposed(name)
    if (!isWanted) {
      states[name] = keys.get(name) ? 'kept' : 'elsewhere'
      continue
    }
    // A Worker that lost its secret gets the one that this machine kept.
    const kept = there.includes(name) ? undefined : keys.get(name)
    const value = keys.proposed(name) ?? kept ?? make()
    if (!keys.proposed(name)) keys.propose(name, value)
    secrets.add(value)
    await wrangler.run(['secret', 'put', name, ...config], { input: value })
    keys.accept(name)
    states[name] = kept === value ? 'restored' : 'put'
    if (states[name] === 'put') onNew(name, value)
  }
  return states
}
