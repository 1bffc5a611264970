import type { Json } from '#contracts/json.ts'
import type { McpDifference, McpItem } from '#contracts/mcp.ts'

const idOf = ({ kind, key }: Pick<McpItem, 'kind' | 'key'>): string => `${kind} ${key}`

/** What a server has now against what was approved, with what is different in lines to read. */
export function compare(
  approved: readonly McpItem[],
  now: readonly McpItem[],
): readonly McpDifference[] {
  const before = new Map(approved.map((item) => [idOf(item), item]))
  const after = new Map(now.map((item) => [idOf(item), item]))
  const there = now.map((item): McpDifference => {
    const was = before.get(idOf(item))
    if (was?.hash === item.hash) return { ...about(item), state: 'same', lines: [] }
    const lines = diffLines(was ? toLines(was.definition) : [], toLines(item.definition))
    return { ...about(item), state: was ? 'changed' : 'new', lines }
  })
  const gone = approved
    .filter((item) => !after.has(idOf(item)))
    .map((item): McpDifference => ({ ...about(item), state: 'gone', lines: [] }))
  return [...there, ...gone]
}

const about = ({ kind, key, tool }: McpItem) => ({ kind, key, ...(tool !== undefined && { tool }) })

/**
 * Each value on a line of its own, with where it stands, whole: what is not shown here a model would read and nobody
 * approve. Texts are quoted, and their lines counted, so that neither `1` and `"1"` nor another order look the same.
 */
function toLines(value: Json, path = ''): readonly string[] {
  if (typeof value === 'string') {
    const lines = value.split('\n')
    return lines.map((line, index) =>
      lines.length === 1 ? `${path}: ${quoted(line)}` : `${path} (${index + 1}): ${quoted(line)}`,
    )
  }
  if (typeof value !== 'object' || value === null) return [`${path}: ${String(value)}`]
  const parts: readonly (readonly [string, Json])[] = Array.isArray(value)
    ? value.map((part: Json, index) => [`${path}[${index}]`, part] as const)
    : Object.entries(value)
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(
          ([name, part]) => [path === '' ? named(name) : `${path}.${named(name)}`, part] as const,
        )
  if (parts.length === 0) return [`${path}: ${Array.isArray(value) ? '[]' : '{}'}`]
  return parts.flatMap(([where, part]) => toLines(part, where))
}

const named = (name: string): string => (/^[A-Za-z_$][\w$-]*$/.test(name) ? name : quoted(name))

/** Printable as it is, other alphabets too; what steers a terminal, or looks like a blank and is none, is not. */
const quoted = (line: string): string =>
  JSON.stringify(line).replace(
    /(?! )[\p{C}\p{Z}\p{Variation_Selector}]/gu,
    (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  )

/** Lines that are only before (`-`), only after (`+`). No two of one definition are the same: each says where it stands. */
function diffLines(before: readonly string[], after: readonly string[]): readonly string[] {
  const old = new Set(before)
  const fresh = new Set(after)
  return [
    ...before.filter((line) => !fresh.has(line)).map((line) => `- ${line}`),
    ...after.filter((line) => !old.has(line)).map((line) => `+ ${line}`),
  ]
}
