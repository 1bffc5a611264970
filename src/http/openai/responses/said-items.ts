import { z } from 'zod'
import type { SaidItem } from '#contracts/session.ts'
import { jsonResponse } from '../../responses.ts'
import { parseFields } from '../../validate.ts'
import { invalid } from '../history.ts'
import { toCallId, toItemId } from '../wire-ids.ts'
import { textPart } from './resource.ts'

const listQuery = z.object({
  limit: z
    .string()
    .regex(/^([1-9]\d?|100)$/, 'must be 1 to 100')
    .optional(),
  after: z.string().optional(),
  order: z.enum(['asc', 'desc']).optional(),
})

/** One page of a list of items, newest first unless asked otherwise. */
export function pageOfItems(
  items: readonly SaidItem[],
  session: string,
  query: Readonly<Record<string, string>>,
): Response {
  const { limit = '20', after, order = 'desc' } = parseFields(listQuery, query)
  const all = items.map((item) => toItem(item, session))
  const sorted = order === 'desc' ? all.toReversed() : all
  const start = after === undefined ? 0 : sorted.findIndex(({ id }) => id === after) + 1
  if (after !== undefined && start === 0) throw invalid('after', 'is no item of this list')
  const page = sorted.slice(start, start + Number(limit))
  return jsonResponse({
    object: 'list',
    data: page,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    has_more: start + page.length < sorted.length,
  })
}

/** The input of a response: of its run's beginning, or what its client's tools returned and what came with it. */
export const inputsAfter = (items: readonly SaidItem[], turn: number): readonly SaidItem[] =>
  items.filter((item) => {
    if (item.turn !== turn) return false
    return turn === 0
      ? item.key.startsWith('i')
      : item.type === 'output' || item.key.startsWith('s')
  })

/** An item as its response has it, under the same id. */
export function toItem(item: SaidItem, session: string) {
  const id = toItemId(item, session)
  const status = 'completed'
  switch (item.type) {
    case 'message': {
      const { type, role, text, images = [] } = item
      const urls = images.map((url) => ({ type: 'input_image', image_url: url, detail: 'auto' }))
      const texts = text === '' ? [] : [{ type: 'input_text', text }]
      const content = role === 'assistant' ? [textPart(text)] : [...texts, ...urls]
      return { type, id, status, role, content }
    }
    case 'call': {
      const { name, input } = item
      const call_id = callIdOf(item, session)
      return { type: 'function_call', id, call_id, name, arguments: JSON.stringify(input), status }
    }
    case 'output': {
      const output = typeof item.output === 'string' ? item.output : JSON.stringify(item.output)
      const call_id = callIdOf(item, session)
      return { type: 'function_call_output', id, call_id, output, status }
    }
  }
}

const callIdOf = (
  { call, callsOf: run }: { readonly call: string; readonly callsOf?: string },
  session: string,
): string => (run === undefined ? call : toCallId({ session, run }, call))
