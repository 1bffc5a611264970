import { invalidField } from '#platform/routes/json-shape.ts'
import { defined } from '#contracts/defined.ts'
import type { Json } from '#contracts/json.ts'
import type { McpDifference, McpItem } from '#runtime/catalog/types/mcp.ts'
import { withCodes } from '#contracts/visible-text.ts'
import { headOf } from '#contracts/cut.ts'
import { remoteToolDestroys } from './types.ts'
import { IsolaError } from '#contracts/errors.ts'

/** The most characters of one comparison: more than a listing may have, so that only repeated parts are cut. */
const maxShownChars = 2_000_000

const idOf = ({ kind, key }: Pick<McpItem, 'kind' | 'key'>): string => `${kind} ${key}`

/** Compares a server's listing with its approved definitions, with the differences in lines to read. */
export function compare(
  approved: readonly McpItem[],
  now: readonly McpItem[],
): readonly McpDifference[] {
  const before = new Map(approved.map((item) => [idOf(item), item]))
  const after = new Map(now.map((item) => [idOf(item), item]))
  const room: Room = { chars: maxShownChars }
  const there = now.map((item): McpDifference => {
    const was = before.get(idOf(item))
    if (was?.hash === item.hash) return { ...about(item), state: 'same', lines: [] }
    const lines = differentLines(was?.definition ?? {}, item.definition, room)
    return { ...about(item), state: was ? 'changed' : 'new', lines }
  })
  const gone = approved
    .filter((item) => !after.has(idOf(item)))
    .map((item): McpDifference => ({ ...about(item), state: 'gone', lines: [] }))
  return [...there, ...gone]
}

const about = ({ kind, key, tool }: McpItem) => ({ kind, key, ...defined({ tool }) })

/** How many characters may still be shown. */
interface Room {
  chars: number
}

/**
 * Each different value on a line of its own below the names that lead to it, whole: a model would read text that this
 * list leaves out, and no operator would have approved it. A name stands once, however much is below it. Texts are
 * quoted and their lines counted, so that neither `1` and `"1"` nor another order look the same.
 */
function differentLines(before: Json, after: Json, room: Room): readonly string[] {
  const lines: string[] = []
  let left = 0
  function say(mark: '-' | '+' | ' ', depth: number, text: string): void {
    room.chars -= 2 + 2 * depth + text.length
    if (room.chars < 0) left += 1
    else lines.push(`${mark} ${'  '.repeat(depth)}${text}`)
  }
  function sayAll(mark: '-' | '+', depth: number, [name, value]: readonly [string, Json]): void {
    const { parts } = partsOf(value)
    if (!parts) return say(mark, depth, `${name}: ${leaf(value)}`)
    say(mark, depth, `${name}:`)
    for (const part of parts) sayAll(mark, depth + 1, part)
  }
  function visit(depth: number, old: Parts, fresh: Parts): void {
    const was = new Map(old)
    const is = new Map(fresh)
    for (const name of new Set([...was.keys(), ...is.keys()])) {
      const [one, other] = [was.get(name), is.get(name)]
      const [from, to] = [partsOf(one), partsOf(other)]
      if (from.parts && to.parts && from.kind === to.kind) {
        const said = lines.length + left
        say(' ', depth, `${name}:`)
        visit(depth + 1, from.parts, to.parts)
        if (lines.length + left > said + 1) continue
        // Nothing below it is different. Its room is not given back: that would cost more than it is worth.
        if (left > 0) left -= 1
        else lines.pop()
      } else if (
        from.parts ||
        to.parts ||
        one === undefined ||
        other === undefined ||
        leaf(one) !== leaf(other)
      ) {
        if (one !== undefined) sayAll('-', depth, [name, one])
        if (other !== undefined) sayAll('+', depth, [name, other])
      }
    }
  }
  visit(0, partsOf(before).parts ?? [], partsOf(after).parts ?? [])
  const rest = `  and ${left} more lines, too long to show here: read the whole definition (isola mcp show --json)`
  return left === 0 ? lines : [...lines, rest]
}

type Parts = readonly (readonly [name: string, value: Json])[]

/** The parts of a value: fields, items, or the lines of a text. A value that fits on a line has none. */
function partsOf(value: Json | undefined): { readonly kind?: string; readonly parts?: Parts } {
  if (typeof value === 'string' && value.includes('\n'))
    return { kind: 'text', parts: value.split('\n').map((line, index) => [`(${index + 1})`, line]) }
  if (typeof value !== 'object' || value === null) return {}
  if (Array.isArray(value))
    return value.length === 0
      ? {}
      : { kind: 'list', parts: value.map((part: Json, index) => [`[${index}]`, part]) }
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return entries.length === 0
    ? {}
    : { kind: 'object', parts: entries.map(([name, part]) => [named(name), part]) }
}

function leaf(value: Json): string {
  if (typeof value === 'string') return quoted(value)
  return typeof value === 'object' && value !== null
    ? Array.isArray(value)
      ? '[]'
      : '{}'
    : String(value)
}

const named = (name: string): string => (/^[A-Za-z_$][\w$-]*$/.test(name) ? name : quoted(name))

/** The line as it is, other alphabets too; characters that steer a terminal or only look like a blank become codes. */
const quoted = (line: string): string => withCodes(JSON.stringify(line))

/**
 * The chosen items, by key or as `kind:key`; all of them without a list. Throws `request_invalid` for an unknown
 * item.
 */
export function chooseItems(
  all: readonly McpItem[],
  wanted: readonly string[] | undefined,
): readonly McpItem[] {
  if (!wanted) return all
  const isWanted = ({ kind, key }: McpItem) =>
    wanted.includes(key) || wanted.includes(`${kind}:${key}`)
  const unknown = wanted.find(
    (name) => !all.some(({ kind, key }) => name === key || name === `${kind}:${key}`),
  )
  if (unknown !== undefined)
    throw invalidField('items', `the server has no "${headOf(unknown, 100)}".`)
  for (const name of wanted) {
    const kinds = all.filter(({ key }) => key === name).map(({ kind }) => `${kind}:${name}`)
    if (kinds.length > 1)
      throw invalidField(
        'items',
        `"${headOf(name, 100)}" is more than one thing; say which: ${headOf(kinds.join(' or '), 300)}.`,
      )
  }
  return all.filter(isWanted)
}

/** A tool's own claim; `presumed` where it makes none. Resources and prompts destroy nothing. */
export const destroys = ({ kind, definition }: McpItem): boolean | 'presumed' =>
  kind === 'tool' && remoteToolDestroys(definition['annotations'])

/** The operator's word in place of none; against what a tool says of itself it does not count. */
export function withHarmless(
  names: readonly string[],
  items: readonly McpItem[],
): readonly McpItem[] {
  for (const name of names) {
    const tool = items.find(({ kind, key }) => kind === 'tool' && key === name)
    if (name !== '*' && (!tool || destroys(tool) === true))
      throw invalidField(
        'harmless',
        `"${headOf(name, 100)}" ` +
          `${
            tool
              ? 'says itself that it destroys; allow_destructive of the policy lets it be called ' +
                'without asking'
              : 'is no tool that is approved'
          }.`,
      )
  }
  return items.map((item) =>
    destroys(item) === 'presumed' && (names.includes('*') || names.includes(item.key))
      ? { ...item, isHarmless: true }
      : item,
  )
}

/**
 * The operator's word that no stranger writes where these tools read, and nothing leaves from there; `*` is all of
 * them.
 */
export function withClosed(
  names: readonly string[],
  items: readonly McpItem[],
): readonly McpItem[] {
  const isNamed = ({ kind, key }: McpItem) =>
    names.includes('*') || (kind === 'tool' && names.includes(key))
  const unknown = names.find((name) => name !== '*' && !isTool(name, items))
  if (unknown !== undefined) throw noTool('closed', unknown)
  return items.map((item) => (isNamed(item) ? { ...item, isClosedWorld: true } : item))
}

const isTool = (name: string, items: readonly McpItem[]): boolean =>
  items.some(({ kind, key }) => kind === 'tool' && key === name)

const noTool = (param: string, name: string): IsolaError =>
  invalidField(param, `"${headOf(name, 100)}" is no tool that is approved.`)

/**
 * The names of tools whose hints the operator confirms, `*` all that are approved; throws `request_invalid` for one
 * that is not.
 */
export function confirmedTools(
  names: readonly string[],
  items: readonly McpItem[],
): readonly string[] {
  const unknown = names.find((name) => name !== '*' && !isTool(name, items))
  if (unknown !== undefined) throw noTool('confirm', unknown)
  if (!names.includes('*')) return names
  return items.filter(({ kind }) => kind === 'tool').map(({ key }) => key)
}

/** The differences that an approval makes, a line each, as the record has them. */
export function approvalLines(
  before: readonly McpItem[],
  chosen: readonly McpItem[],
): readonly string[] {
  const changes = compare(before, chosen)
    .filter(({ state }) => state !== 'same')
    .map(({ state, kind, key }) =>
      state === 'gone' ? `not approved any more: ${kind} ${key}` : `${state} ${kind} ${key}`,
    )
  const unasked = chosen.filter(({ isHarmless }) => isHarmless)
  const closed = chosen.filter(({ isClosedWorld }) => isClosedWorld)
  return [
    ...changes,
    ...unasked.map(({ key }) => `called without asking: tool ${key}`),
    ...closed.map(({ kind, key }) => `reaches no stranger: ${kind} ${key}`),
  ]
}
