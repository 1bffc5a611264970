import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseSync } from 'oxc-parser'

/** A regular expression of ours, and where it is written. */
export interface Found {
  readonly file: string
  readonly line: number
  readonly regex: RegExp
}

const root = join(import.meta.dirname, '../../..')
const places = ['src/**/*.ts', 'plugins/**/*.ts', 'cli/**/*.ts']

/** All literals, and the files that make some by `new RegExp`. */
export function regexesOf(): {
  readonly found: readonly Found[]
  readonly made: ReadonlySet<string>
} {
  const found: Found[] = []
  const made = new Set<string>()
  const files = places
    .flatMap((place) => globSync(place, { cwd: root }))
    .filter((file) => !file.includes('.gen'))
    .toSorted()
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8')
    if (!/\/|RegExp/.test(text)) continue
    walk(parseSync(file, text).program, (node) => {
      const line = () => text.slice(0, node.start).split('\n').length
      if (node.type === 'Literal' && node.regex)
        found.push({ file, line: line(), regex: new RegExp(node.regex.pattern, node.regex.flags) })
      if (/^(?:New|Call)Expression$/.test(node.type) && node.callee?.name === 'RegExp')
        made.add(file)
    })
  }
  return { found, made }
}

interface Node {
  readonly type: string
  readonly start: number
  readonly regex?: { readonly pattern: string; readonly flags: string }
  readonly callee?: { readonly name?: string }
}

function walk(value: unknown, visit: (node: Node) => void): void {
  if (Array.isArray(value)) value.forEach((one) => walk(one, visit))
  else if (typeof value === 'object' && value !== null && !(value instanceof RegExp)) {
    if ('type' in value && typeof value.type === 'string') visit(value as Node)
    for (const child of Object.values(value)) walk(child, visit)
  }
}

/** What a module makes by `new RegExp` when it is loaded. */
export async function madeBy(file: string): Promise<readonly RegExp[]> {
  const { RegExp: own } = globalThis
  const made: RegExp[] = []
  globalThis.RegExp = new Proxy(own, {
    construct(target, given: [string, string?]) {
      const regex = new target(...given)
      made.push(regex)
      return regex
    },
  })
  try {
    // Anew, also if another one has imported it.
    await import(/* @vite-ignore */ `${join(root, file)}?made`)
    return made
  } finally {
    globalThis.RegExp = own
  }
}
