import { headOf } from '#contracts/cut.ts'
// Applies an operator's choice to a listing.
import { remoteToolDestroys } from './types.ts'
import { IsolaError } from '#contracts/errors.ts'
import type { McpItem } from '#runtime/catalog/types/mcp.ts'
import { compare } from './compare.ts'

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
    throw new IsolaError('request_invalid', `items: the server has no "${headOf(unknown, 100)}".`, {
      param: 'items',
    })
  for (const name of wanted) {
    const kinds = all.filter(({ key }) => key === name).map(({ kind }) => `${kind}:${name}`)
    if (kinds.length > 1)
      throw new IsolaError(
        'request_invalid',
        `items: "${headOf(name, 100)}" is more than one thing; say which: ${headOf(kinds.join(' or '), 300)}.`,
        { param: 'items' },
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
      throw new IsolaError(
        'request_invalid',
        `harmless: "${headOf(name, 100)}" ${tool ? 'says itself that it destroys; allow_destructive of the policy lets it be called without asking' : 'is no tool that is approved'}.`,
        { param: 'harmless' },
      )
  }
  return items.map((item) =>
    destroys(item) === 'presumed' && (names.includes('*') || names.includes(item.key))
      ? { ...item, isHarmless: true }
      : item,
  )
}

/** The operator's word that no stranger writes where these tools read, and nothing leaves from there; `*` is all of them. */
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
  new IsolaError(
    'request_invalid',
    `${param}: "${headOf(name, 100)}" is no tool that is approved.`,
    { param },
  )

/** The names of tools whose hints the operator confirms, `*` all that are approved; throws `request_invalid` for one that is not. */
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
